// tests/support/faster_thread.hpp -- an executor whose thread is always faster than the one that posts.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>
#include <thread>

namespace coracle_test {
/// Posted coroutines run on another thread, up to their next suspension, before post() returns. So a test
/// observes the order of publication and wake-up under a fixed interleaving.
class faster_thread final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override {
    std::thread{[&] { coracle::resume(item, *this); }}.join();
  }
  coracle::schedule_operation<faster_thread> schedule() noexcept {
    return coracle::schedule_operation<faster_thread>{*this};
  }
};
}  // namespace coracle_test
