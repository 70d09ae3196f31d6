// tests/unit/io_engine_test.cpp -- the choice of the engine, and cases that concern only one of them.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/whole_file.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::io_service;
using coracle_test::note;
using coracle_test::outcome;
using coracle_test::raw_operation;
using coracle_test::receive;
using coracle_test::send;
using coracle_test::socket_pair;
using coracle_test::test_coroutine;

/// Sets CORACLE_IO for its lifetime, in which no other thread reads the environment.
class asks_for {
 public:
  explicit asks_for(const char* engine) {
    if (const char* const value = std::getenv("CORACLE_IO")) before_ = value;
    ::setenv("CORACLE_IO", engine, 1);
  }
  asks_for(const asks_for&) = delete;
  asks_for& operator=(const asks_for&) = delete;
  ~asks_for() {
    if (before_) {
      ::setenv("CORACLE_IO", before_->c_str(), 1);
    } else {
      ::unsetenv("CORACLE_IO");
    }
  }

 private:
  std::optional<std::string> before_;
};

TEST_CASE("io_engine: these tests run on the one that CORACLE_IO names") {
  const char* const asked = std::getenv("CORACLE_IO");
  io_service io;
  MESSAGE("engine: ", std::string(io.engine().name), " (", std::string(io.engine().reason), ")");
  if (asked) {
    CHECK(io.engine().name == asked);
    CHECK(io.engine().reason == "requested by CORACLE_IO");
  } else {
    CHECK((io.engine().name == "io_uring" || io.engine().name == "epoll"));
    CHECK_FALSE(io.engine().reason.empty());
  }
}

/// Uses all that has threads: a pool, an io_service, the program's timers and blocking() calls.
int use_threads() {
  io_service io;
  coracle::static_thread_pool pool{2};
  const auto on_loop = [&]() -> coracle::task<int> {
    const std::string text = co_await coracle::filesystem::read_file(io, "/proc/self/comm");
    co_await coracle::sleep_for(std::chrono::milliseconds{1});
    co_return text.empty() ? 0 : 20;
  };
  const auto on_pool = [&]() -> coracle::task<int> {
    co_await pool.schedule();
    co_await coracle::sleep_for(std::chrono::milliseconds{1});
    const auto call = [] { return 22; };
    const int result = co_await coracle::blocking(call);
    co_return result;
  };
  return io.run(on_loop()) + coracle::sync_wait(on_pool());
}

TEST_CASE("io_engine: a child of fork() uses an io_service and a pool of its own" *
          doctest::skip(CORACLE_THREAD_SANITIZER())) {
  // ThreadSanitizer does not support threads in the child of a process with threads.
  CHECK(use_threads() == 42);
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(use_threads());
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("io_engine: a socket that a child of fork() destroys stays registered with its parent's epoll") {
  const asks_for set{"epoll"};
  io_service io;
  std::optional<coracle::net::unix_pair> ends{coracle::net::make_unix_pair(io)};
  const ::pid_t child = ::fork();
  if (child == 0) {
    ends.reset();
    ::_exit(0);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  char byte = 0;
  auto waiting = coracle::testing::poll(ends->second.recv(&byte, 1));
  CHECK_FALSE(waiting.run());
  CHECK(::write(ends->first.native_handle(), "x", 1) == 1);
  io.process_pending_events();
  REQUIRE(waiting.run());
  CHECK(waiting.get() == 1);
}

TEST_CASE("io_engine: CORACLE_IO decides, and what it does not know is an error") {
  {
    const asks_for set{"epoll"};
    CHECK(io_service{}.engine().name == "epoll");
  }
  const asks_for set{"kqueue"};
  try {
    io_service io;
    FAIL("there is no such engine");
  } catch (const std::system_error& e) {
    CHECK(e.code() == std::errc::invalid_argument);
    CHECK(std::string(e.what()).find("CORACLE_IO is neither epoll nor io_uring: kqueue") == 0);
  }
}

test_coroutine received(const coracle_test::io_descriptor& from, outcome& seen,
                        coracle::stop_token token = {}) {
  co_await note(receive(from, seen.buffer, sizeof seen.buffer, std::move(token)), seen);
}
/// Polls the loop on a thread that then exits: the kernel cancels the requests that this thread has
/// submitted.
void look_elsewhere(io_service& io) {
  std::thread looks{[&] { io.process_pending_events(); }};
  looks.join();
}

TEST_CASE("io_engine: an operation goes on when the thread that submitted it has ended") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  auto receiving = received(pair.second, seen);
  receiving.resume();
  for (int i = 0; i != 3; ++i) look_elsewhere(io);
  CHECK_FALSE(seen.over);
  CHECK(io.process_pending_events() == 0);
  outcome sent;
  auto sending = coracle_test::started(note(send(pair.first, "hello", 5), sent));
  while (!seen.over) io.process_one_event();
  CHECK(seen.text() == "hello");
}

TEST_CASE("io_engine: an operation is stopped after the thread that submitted it has ended") {
  io_service io;
  const socket_pair pair{io};
  coracle::stop_source source;
  outcome seen;
  auto receiving = received(pair.second, seen, source.get_token());
  receiving.resume();
  look_elsewhere(io);
  source.request_stop();
  while (!seen.over) io.process_one_event();
  CHECK(seen.cancelled);
}

TEST_CASE("io_engine: a timer and a wake-up come after the thread that slept first has ended") {
  io_service io;
  const socket_pair pair{io};
  look_elsewhere(io);
  bool due = false;
  const auto wait = [&]() -> test_coroutine {
    co_await io.schedule_after(std::chrono::milliseconds{1});
    due = true;
  };
  auto waiting = wait();
  waiting.resume();
  io.process_one_event();
  CHECK(due);
}

TEST_CASE("io_engine: what is begun on the loop's thread and not submitted yet is stopped without a trace") {
  io_service io;
  const socket_pair pair{io};
  coracle::stop_source source;
  outcome stopped, next;
  const auto work = [&]() -> coracle::task<> {
    auto first = received(pair.second, stopped, source.get_token());
    first.resume();
    CHECK(::send(pair.first.native_handle(), "x", 1, 0) == 1);
    source.request_stop();
    while (!stopped.over) co_await io.schedule();
    CHECK(stopped.cancelled);
    co_await note(receive(pair.second, next.buffer, 1), next);
  };
  io.run(work());
  CHECK(next.text() == "x");
}

TEST_CASE("io_engine: the first send after a poll leaves at once, whatever else is ready") {
  io_service io;
  const socket_pair pair{io};
  outcome sent;
  const auto other = [&]() -> coracle::task<> {
    co_await io.schedule();
    co_await io.schedule();
  };
  const auto work = [&]() -> coracle::task<> {
    co_await io.schedule();  // so that the other is ready
    auto sending = coracle_test::started(note(send(pair.first, "x", 1), sent));
    char byte = 0;
    CHECK(::recv(pair.second.native_handle(), &byte, 1, MSG_DONTWAIT) == 1);
    CHECK(byte == 'x');
    while (!sent.over) co_await io.schedule();
  };
  io.run(coracle::when_all(work(), other()));
}

TEST_CASE("io_engine: more receives than the submission queue holds wait at once, and all get their bytes") {
  constexpr std::size_t many = 400;
  io_service io;
  std::vector<std::unique_ptr<socket_pair>> pairs;
  std::vector<outcome> seen(many);
  std::vector<test_coroutine> receiving;
  for (std::size_t i = 0; i != many; ++i) {
    pairs.push_back(std::make_unique<socket_pair>(io));
    receiving.push_back(received(pairs[i]->second, seen[i]));
    receiving.back().resume();
  }
  CHECK(io.process_pending_events() == 0);
  for (const auto& each : pairs) CHECK(::send(each->first.native_handle(), "y", 1, 0) == 1);
  std::size_t events = 0;
  while (events != many) events += io.process_one_event();
  for (const outcome& each : seen) CHECK(each.text() == "y");
}
}  // namespace
