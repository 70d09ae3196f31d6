// tests/unit/signal_set_test.cpp -- awaiting the signals of the process.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/time/sleep.hpp>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {
using coracle::io_service;
using coracle::signal_set;
using coracle::task;

std::error_code error_of(io_service& io, std::initializer_list<int> signals) {
  try {
    const signal_set made{io, signals};
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}
int handled = 0;

TEST_CASE("signal_set: a signal that comes during the wait ends it, and so does one that came before") {
  io_service io;
  signal_set signals{io, {SIGUSR1, SIGUSR2}};
  io.run([&]() -> task<> {
    std::raise(SIGUSR2);
    std::raise(SIGUSR1);
    CHECK(co_await signals.wait() == SIGUSR2);
    CHECK(co_await signals.wait() == SIGUSR1);
    int got = 0;
    const auto wait = [&]() -> task<> { got = co_await signals.wait(); };
    const auto raise = []() -> task<> {
      ::kill(::getpid(), SIGUSR1);
      co_return;
    };
    co_await coracle::when_all(wait(), raise());
    CHECK(got == SIGUSR1);
  }());
}

TEST_CASE(
    "signal_set: whichever thread is interrupted, also one that was there before, the waiter hears of it") {
  io_service io;
  coracle::stop_source end;
  std::thread earlier{[&] {
    io_service{}.run([&]() -> task<> {
      try {
        co_await coracle::with_stop(coracle::sleep_for(std::chrono::hours{1}), end.get_token());
      } catch (const coracle::operation_cancelled&) {
      }
    }());
  }};
  signal_set signals{io, {SIGUSR1}};
  io.run([&]() -> task<> {
    ::pthread_kill(earlier.native_handle(), SIGUSR1);
    CHECK(co_await signals.wait() == SIGUSR1);
  }());
  end.request_stop();
  earlier.join();
}

TEST_CASE("signal_set: a stop request ends the wait, and takes no signal") {
  io_service io;
  signal_set signals{io, {SIGUSR1}};
  io.run([&]() -> task<> {
    const auto first =
        co_await coracle::when_any(signals.wait(), coracle::sleep_for(std::chrono::milliseconds{1}));
    CHECK(first.index() == 1);
    std::raise(SIGUSR1);
    bool cancelled = false;
    coracle::stop_source stop;
    stop.request_stop();
    try {
      co_await signals.wait(stop.get_token());
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    }
    CHECK(cancelled);
    CHECK(co_await signals.wait() == SIGUSR1);
  }());
}

TEST_CASE("signal_set: several that wait get a signal each, in their order") {
  io_service io;
  signal_set signals{io, {SIGUSR1, SIGUSR2}};
  std::vector<int> got;
  const auto wait = [&]() -> task<> {
    const int number = co_await signals.wait();
    got.push_back(number);
  };
  const auto raise = []() -> task<> {
    std::raise(SIGUSR1);
    std::raise(SIGUSR2);
    std::raise(SIGUSR1);
    co_return;
  };
  io.run(coracle::when_all(wait(), wait(), wait(), raise()));
  CHECK(got == std::vector<int>{SIGUSR1, SIGUSR2, SIGUSR1});
}

TEST_CASE("signal_set: afterwards the signal does what it did before") {
  io_service io;
  const auto old = std::signal(SIGUSR1, [](int) { ++handled; });
  {
    const signal_set signals{io, {SIGUSR1}};
  }
  handled = 0;
  std::raise(SIGUSR1);
  CHECK(handled == 1);
  std::signal(SIGUSR1, old);
}

// ThreadSanitizer delivers no signals in the child of a process with other threads.
TEST_CASE(
    "signal_set: in a process that fork() has made the signal does what it did before, and nobody hears of "
    "it" *
    doctest::skip(CORACLE_THREAD_SANITIZER())) {
  io_service io;
  signal_set signals{io, {SIGUSR1, SIGUSR2}};
  const ::pid_t child = ::fork();
  if (child == 0) {
    std::raise(SIGUSR1);  // ends it
    ::_exit(0);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGUSR1);
  std::raise(SIGUSR2);
  CHECK(io.run(signals.wait()) == SIGUSR2);
}

TEST_CASE("signal_set: what cannot be caught, or another catches, is an error, and leaves all as it was") {
  io_service io;
  CHECK(error_of(io, {SIGUSR1, SIGKILL}) == std::errc::invalid_argument);
  CHECK(error_of(io, {SIGUSR1, 0}) == std::errc::invalid_argument);
  CHECK(error_of(io, {SIGUSR1, 65}) == std::errc::invalid_argument);
  signal_set signals{io, {SIGUSR1, SIGUSR1}};
  CHECK(error_of(io, {SIGUSR2, SIGUSR1}) == std::errc::device_or_resource_busy);
  io.run([&]() -> task<> {
    signal_set others{io, {SIGUSR2}};
    std::raise(SIGUSR2);
    std::raise(SIGUSR1);
    CHECK(co_await signals.wait() == SIGUSR1);
    CHECK(co_await others.wait() == SIGUSR2);
  }());
}

TEST_CASE("signal_set: a wait allocates nothing") {
  io_service io;
  signal_set signals{io, {SIGUSR1}};
  std::size_t allocated = 1;
  io.run([&]() -> task<> {
    std::raise(SIGUSR1);
    const std::size_t before = coracle::testing::allocations();
    co_await signals.wait();
    allocated = coracle::testing::allocations() - before;
  }());
  CHECK(allocated == 0);
}

TEST_CASE("signal_set: its handler lets system calls go on, and no other signal interrupts it") {
  io_service io;
  const signal_set signals{io, {SIGUSR1}};
  struct sigaction now{};
  REQUIRE(::sigaction(SIGUSR1, nullptr, &now) == 0);
  CHECK((now.sa_flags & SA_RESTART) != 0);
  CHECK(::sigismember(&now.sa_mask, SIGTERM) == 1);
}

TEST_CASE("signal_set: one that the system refuses to catch is refused each time, and leaves no descriptor") {
  io_service io;
  const auto lowest_free = [] {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    for (const int each : ends) ::close(each);
    return std::pair(ends[0], ends[1]);
  };
  const auto before = lowest_free();
  for (int i = 0; i != 2; ++i) {
    CHECK(error_of(io, {SIGKILL}).value() == EINVAL);
    {
      const signal_set signals{io, {SIGUSR1}};
    }
  }
  CHECK(lowest_free() == before);
}
}  // namespace
