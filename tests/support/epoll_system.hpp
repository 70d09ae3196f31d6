// tests/support/epoll_system.hpp -- the system with epoll and file threads, whatever the engine of the
// process is.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <memory>

#include "../../src/exec/turn_order.hpp"
#include "../../src/io/epoll_backend.hpp"
#include "inert_io_system.hpp"

namespace coracle_test {
/// For descriptors that the test opens itself.
class epoll_system : public inert_io_system {
 public:
  std::chrono::steady_clock::time_point now() noexcept override { return std::chrono::steady_clock::now(); }
  std::uint64_t ticks() noexcept override { return coracle::detail::turn_clock(); }
  std::unique_ptr<coracle::detail::io_backend> backend_for(coracle::detail::io_loop& loop) override {
    return std::make_unique<coracle::detail::epoll_backend>(loop);
  }
};
}  // namespace coracle_test
