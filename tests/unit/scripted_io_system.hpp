// tests/unit/scripted_io_system.hpp -- a system whose clocks, sleeps and polls the test controls.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "../../src/exec/turn_order.hpp"
#include "../../src/io/io_backend.hpp"
#include "../../src/io/io_loop.hpp"
#include "../support/inert_io_system.hpp"

namespace coracle_test::scripted_io {
using coracle::detail::io_backend;
using coracle::detail::io_loop;
using coracle::detail::io_system;
using time_point = std::chrono::steady_clock::time_point;

inline constexpr std::uint64_t slice = coracle::detail::turn_order::slice;

/// A system controlled by the test: what happens during each sleep, in order, and how often it was polled.
struct script {
  std::function<void()> in_sleep[3];
  std::function<void()> in_look;
  std::function<void()> when_asked_for_time;  ///< the next time
  int sleeps = 0;
  int looks = 0;  ///< which did not wait
  int wakes = 0;
  int timers_set = 0;
  time_point time{};
  time_point timer = time_point::max();
  std::uint64_t ticks = 0;
  std::uint64_t operation_takes = slice / 16;
  bool is_simulated = false;  ///< others run the loop, and always count as a run() that sleeps

  /// Advances both clocks, as code that runs for `some` ticks would.
  void spend(std::uint64_t some) {
    ticks += some;
    time += std::chrono::nanoseconds(some);
  }
};

class scripted_backend final : public inert_io_backend {
 public:
  scripted_backend(io_system& system, script& its, io_loop& loop) noexcept
      : inert_io_backend(system), script_(its), loop_(loop) {
    record_.backend = this;
    if (its.is_simulated) loop.count_external_driver();
  }

  signals poll(bool wait, completions&) noexcept override {
    if (!wait) {
      // A loop that spins would otherwise never end.
      if (++script_.looks == 100) std::abort();
      if (script_.in_look) script_.in_look();
    } else {
      REQUIRE(script_.sleeps != 3);
      if (const auto& happens = script_.in_sleep[script_.sleeps++]) happens();
      if (!woken_) script_.time = std::max(script_.time, script_.timer);
    }
    const bool timer = script_.timer <= script_.time;
    if (timer) script_.timer = time_point::max();
    return {std::exchange(woken_, false), timer};
  }
  void wake() noexcept override {
    woken_ = true;
    ++script_.wakes;
  }
  void set_timer(std::uint64_t nanoseconds) noexcept override {
    ++script_.timers_set;
    script_.timer = time_point{std::chrono::nanoseconds{nanoseconds}};
  }

  coracle::detail::io_record& attach(int, coracle::detail::io_descriptor_kind) override { return record_; }
  /// Its operations never have to wait.
  bool submit(coracle::detail::io_request& request) noexcept override {
    script_.spend(script_.operation_takes);
    request.result = 1;
    return false;
  }
  void deliver(coracle::detail::io_request& request) noexcept override {
    loop_.finish_behind_others(request);
  }
  bool withdraw(coracle::detail::io_request& request) noexcept override { return loop_.unlist(request); }

 private:
  script& script_;
  io_loop& loop_;
  coracle::detail::io_record record_;
  bool woken_ = false;
};

class scripted_system final : public inert_io_system {
 public:
  time_point now() noexcept override {
    if (const auto happens = std::exchange(its.when_asked_for_time, nullptr)) happens();
    return its.time;
  }
  std::uint64_t ticks() noexcept override { return its.ticks; }
  std::unique_ptr<io_backend> backend_for(io_loop& loop) override {
    return std::make_unique<scripted_backend>(*this, its, loop);
  }

  script its;
};

/// Suspends until the test resumes it, without an executor.
struct kept {
  std::coroutine_handle<>& handle;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept { handle = suspended; }
  void await_resume() const noexcept {}
};
}  // namespace coracle_test::scripted_io
