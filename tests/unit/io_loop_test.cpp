// tests/unit/io_loop_test.cpp -- how often the event loop of an io_service asks the system, and how often it sleeps there.
// SPDX-License-Identifier: MIT
#include "../../src/io/io_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coroutine>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "../../src/io/io_backend.hpp"
#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::detail::io_backend;
using coracle::detail::io_loop;
using coracle::detail::io_system;
using coracle_test::detached;
using time_point = std::chrono::steady_clock::time_point;

/// The system, as the test plays it: what happens in each sleep, one after the other, and how often it was asked.
struct script {
  std::function<void()> in_sleep[3];
  int sleeps = 0;
  int looks = 0;  ///< which did not wait
  int wakes = 0;
  int timers_set = 0;
  time_point time{};
  time_point timer = time_point::max();
};

class scripted_backend final : public io_backend {
 public:
  scripted_backend(io_system& system, script& its) noexcept : io_backend(system), script_(its) {}

  signals poll(bool wait) noexcept override {
    if (!wait) {
      // A loop that spins would never end.
      if (++script_.looks == 100) std::abort();
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

  coracle::detail::io_record& attach(int, coracle::detail::io_descriptor_kind) override { std::abort(); }
  void detach(coracle::detail::io_record&) noexcept override {}
  std::size_t attached() noexcept override { return 0; }
  bool submit(coracle::detail::io_request&) noexcept override { return false; }
  void deliver(coracle::detail::io_request&) noexcept override {}
  void cancel(coracle::detail::io_request&) noexcept override {}
  bool withdraw(coracle::detail::io_request&) noexcept override { return false; }

 private:
  script& script_;
  bool woken_ = false;
};

class scripted_system final : public io_system {
 public:
  time_point now() noexcept override { return its.time; }
  std::unique_ptr<io_backend> backend_for(io_loop&) override {
    return std::make_unique<scripted_backend>(*this, its);
  }
  int open(const std::filesystem::path&, int) noexcept override { return -ENOSYS; }
  int status(int, struct ::stat&) noexcept override { return -ENOSYS; }
  int set_size(int, std::uint64_t) noexcept override { return -ENOSYS; }
  int open_socket(int, int) noexcept override { return -ENOSYS; }
  int bind(int, const sockaddr*, socklen_t) noexcept override { return -ENOSYS; }
  void reuse_address(int) noexcept override {}
  int listen(int, int) noexcept override { return -ENOSYS; }
  int local_address(int, sockaddr_storage&) noexcept override { return -ENOSYS; }
  int shut_down(int, int) noexcept override { return -ENOSYS; }
  int dissolve(int) noexcept override { return -ENOSYS; }
  int duplicate(int) noexcept override { return -ENOSYS; }
  void close(int) noexcept override {}

  script its;
};

/// Suspends, outside any executor's order, until somebody resumes it.
struct kept {
  std::coroutine_handle<>& handle;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept { handle = suspended; }
  void await_resume() const noexcept {}
};

TEST_CASE(
    "io_service: a run() whose awaitable ends while it sleeps leaves nothing that keeps the next one awake") {
  scripted_system system;
  io_service io{system};
  std::coroutine_handle<> handle;
  for (auto& each : system.its.in_sleep) each = [&] { handle.resume(); };
  for (int runs = 1; runs != 4; ++runs) {
    io.run(kept{handle});
    CHECK(system.its.sleeps == runs);
    CHECK(system.its.looks == 0);
  }
}

TEST_CASE("io_service: what is ready is run without a sleep, however much of it there is") {
  scripted_system system;
  io_service io{system};
  int turns = 0;
  const auto work = [&]() -> coracle::task<> {
    for (; turns != 300; ++turns) co_await io.schedule();
  };
  io.run(work());
  CHECK(turns == 300);
  CHECK(system.its.sleeps == 0);
  CHECK(system.its.looks <= 300 / 61 + 1);
}

TEST_CASE("io_service: two timers in turn take a sleep each") {
  scripted_system system;
  io_service io{system};
  const auto work = [&]() -> coracle::task<> {
    co_await io.schedule_after(5ms);
    co_await io.schedule_after(1ms);
  };
  io.run(work());
  CHECK(system.its.time == time_point{6ms});
  CHECK(system.its.sleeps == 2);
  CHECK(system.its.looks == 0);
}

TEST_CASE("io_service: a wake-up that has arrived is not under way any more: the next post wakes again") {
  scripted_system system;
  io_service io{system};
  int hops = 0;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = hop;
  system.its.in_sleep[1] = hop;
  system.its.in_sleep[2] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(hops == 2);
  CHECK(system.its.wakes == 3);  // by both posts and the end
  CHECK(system.its.sleeps == 3);
  CHECK(system.its.looks == 0);
}

TEST_CASE("io_service: several posts wake a sleeper once") {
  scripted_system system;
  io_service io{system};
  int hops = 0;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    ++hops;
  };
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = [&] {
    hop();
    hop();
  };
  system.its.in_sleep[1] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(hops == 2);
  CHECK(system.its.wakes == 2);  // by the posts and the end
}

TEST_CASE("io_service: the system's timer is set again only for an earlier deadline") {
  scripted_system system;
  io_service io{system};
  int over = 0;
  const auto wait = [&](time_point until) -> detached {
    co_await io.schedule_at(until);
    ++over;
  };
  wait(time_point{5ms});
  CHECK(system.its.timers_set == 1);
  wait(time_point{9ms});
  wait(time_point{7ms});
  CHECK(system.its.timers_set == 1);
  wait(time_point{3ms});
  CHECK(system.its.timers_set == 2);
  for (int i = 1; i != 5; ++i) {
    io.process_one_event();
    CHECK(over == i);
    if (i == 3) system.its.sleeps = 0;  // no more than three are scripted
  }
  CHECK(system.its.time == time_point{9ms});
}

TEST_CASE("io_service: what has been posted and what has finished take turns") {
  scripted_system system;
  system.its.time = time_point{9ms};
  io_service io{system};
  std::string order;
  const auto hop = [&]() -> detached {
    co_await io.schedule();
    order += 'p';
  };
  const auto past = [&]() -> detached {
    co_await io.schedule_at(time_point{5ms});
    order += 'f';
  };
  for (int i = 0; i != 3; ++i) {
    hop();
    past();
  }
  io.process_pending_events();
  CHECK(order == "fpfpfp");
}

TEST_CASE("io_service: a stop() does not wake who sleeps inside run(), nor keep it from sleeping on") {
  scripted_system system;
  io_service io{system};
  std::coroutine_handle<> handle;
  system.its.in_sleep[0] = [&] { io.stop(); };
  system.its.in_sleep[1] = [&] { handle.resume(); };
  io.run(kept{handle});
  CHECK(system.its.sleeps == 2);
  CHECK(system.its.looks == 0);
  CHECK(system.its.wakes == 1);  // by the end
}

TEST_CASE(
    "io_service: a timer whose time has come is not cancelled any more, though it has not gone on yet") {
  scripted_system system;
  system.its.time = time_point{9ms};
  io_service io{system};
  coracle::stop_source source;
  int over = 0, cancelled = 0;
  const auto wait = [&]() -> detached {
    try {
      co_await io.schedule_at(time_point{5ms}, source.get_token());
      ++over;
    } catch (const coracle::operation_cancelled&) {
      ++cancelled;
    }
  };
  wait();
  source.request_stop();
  io.process_pending_events();
  CHECK(over == 1);
  CHECK(cancelled == 0);
}

TEST_CASE("io_service: work that ends without having begun ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service{system}.notify_work_finished();
        }).find("coracle: notify_work_finished() of an io_service without a notify_work_started()") == 0);
}
}  // namespace
