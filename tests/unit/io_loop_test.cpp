// tests/unit/io_loop_test.cpp -- how often the loop of an io_service sleeps, and what wakes it.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coroutine>
#include <csignal>
#include <string>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"
#include "scripted_io_system.hpp"

namespace {
using coracle::io_service;
using coracle_test::detached;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::raw_operation;
using coracle_test::scripted_io::kept;
using coracle_test::scripted_io::scripted_system;
using coracle_test::scripted_io::slice;

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

TEST_CASE(
    "io_service: what is ready is run without asking a system that has nothing to tell, however long it "
    "takes") {
  scripted_system system;
  io_service io{system};
  int turns = 0;
  const auto work = [&]() -> coracle::task<> {
    for (; turns != 300; ++turns) {
      co_await io.schedule();
      system.its.spend(slice);
    }
  };
  io.run(work());
  CHECK(turns == 300);
  CHECK(system.its.sleeps == 0);
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

TEST_CASE(
    "io_service: where others run the loop a post wakes them, but stop(), which does not concern a run(), "
    "does not") {
  scripted_system system;
  system.its.is_simulated = true;
  io_service io{system};
  io.stop();
  CHECK(system.its.wakes == 0);
  const auto hop = [&]() -> detached { co_await io.schedule(); };
  hop();
  CHECK(system.its.wakes == 1);
  io.reset();
  io.process_pending_events();
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

TEST_CASE("io_service: an operation that goes behind others wakes a thread that sleeps") {
  scripted_system system;
  io_service io{system};
  const io_descriptor file{io, 0, io_descriptor_kind::file};
  std::coroutine_handle<> handle;
  int wakes = -1;
  const auto read = [&]() -> detached {
    char byte = 0;
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    system.its.spend(2 * slice);
    co_await raw_operation(file, io_opcode::read_at, &byte, 1);
    handle.resume();
  };
  system.its.in_sleep[0] = [&] {
    read();
    wakes = system.its.wakes;
  };
  io.run(kept{handle});
  CHECK(wakes == 1);
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

TEST_CASE("io_service: a wake-up that reaches who is not to leave is passed on before it polls again") {
  scripted_system system;
  io_service io{system};
  std::coroutine_handle<> handle;
  int wakes_before_look = 0;
  // While one thread sleeps until the stop(), another one sleeps inside run() and receives the wake-up.
  system.its.in_sleep[0] = [&] { io.run(kept{handle}); };
  system.its.in_sleep[1] = [&] { io.stop(); };
  system.its.in_look = [&] {
    if (system.its.looks == 1) wakes_before_look = system.its.wakes;
    handle.resume();
    system.its.in_look = nullptr;
  };
  io.process_events();
  CHECK(wakes_before_look == 2);
}

TEST_CASE("io_service: work that ends without having begun ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service{system}.notify_work_finished();
        }).find("coracle: notify_work_finished() of an io_service without a notify_work_started()") == 0);
}

TEST_CASE("signal_set: a simulated io_service, where no signals come, is refused") {
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service io{system};
          const coracle::signal_set signals{io, {SIGUSR1}};
        }).find("a signal_set was made for a simulated io_service, where no signals come") !=
        std::string::npos);
}

TEST_CASE("unix_socket: a simulated io_service, which has none, is refused") {
  static constexpr auto create = [](io_service& io) {
    return coracle::net::unix_socket::create(io, coracle::net::unix_kind::stream);
  };
  const std::string refusal = "a unix_socket was made for a simulated io_service";
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service io{system};
          static_cast<void>(create(io));
        }).find(refusal) != std::string::npos);
  CHECK(coracle_test::abort_message([] {
          scripted_system system;
          io_service real, simulated{system};
          auto listener = create(real);
          static_cast<void>(listener.accept_on(simulated));
        }).find(refusal) != std::string::npos);
}
}  // namespace
