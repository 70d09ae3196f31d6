// tests/support/faster_thread.hpp -- an executor whose thread is always faster than the one that posts.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/schedule.hpp>
#include <thread>

namespace coracle_test {
/// What it is given runs on a thread of its own and has run, as far as it goes, when post() returns. So a test sees in which
/// order something is published and its waiter woken, in an order of threads that is always the same.
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
