// tests/stress/signals.cpp -- signals on every thread, while signal_sets come and go.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/signal_set.hpp>
#include <thread>

#include "../support/stress.hpp"

namespace {
using coracle::io_service;
using coracle::signal_set;
using coracle::task;

/// Sends SIGUSR1 to the process, which ignores it unless a set catches it, until this object is destroyed.
class sender {
 public:
  sender()
      : thread_([this] {
          while (!over_) ::kill(::getpid(), SIGUSR1);
        }) {}
  sender(const sender&) = delete;
  sender& operator=(const sender&) = delete;
  ~sender() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// A pipe that is opened meanwhile reuses the descriptor of the last set's pipe, and receives no signal.
long long come_and_go(int rounds) {
  const sender one, other;
  io_service io;
  long long alien = 0;
  for (int i = 0; i != rounds; ++i) {
    {
      const signal_set signals{io, {SIGUSR1}};
    }
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK) != 0) return -1;
    char byte = 0;
    if (::read(ends[0], &byte, 1) == 1) ++alien;
    ::close(ends[0]);
    ::close(ends[1]);
  }
  return alien;
}

/// Each sent signal is received once, although waits are cancelled: at least one before every other signal.
long long received_once(int rounds) {
  io_service io;
  signal_set signals{io, {SIGUSR1}};
  std::atomic<int> got{0};
  std::atomic<long long> cancelled{0};
  std::thread sends{[&] {
    for (int i = 0; i != rounds; ++i) {
      const long long before = cancelled;
      while (i % 2 == 0 && cancelled == before) std::this_thread::yield();
      ::kill(::getpid(), SIGUSR1);
      while (got.load() <= i) std::this_thread::yield();  // the system makes one of two that are pending
    }
  }};
  const auto receive = [&]() -> task<> {
    while (got.load() != rounds) {
      const auto first = co_await coracle::when_any(signals.wait(), io.schedule());
      if (first.index() == 0) {
        ++got;
      } else {
        ++cancelled;
      }
    }
  };
  io.run(receive());
  sends.join();
  return got;
}
}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGUSR1, SIG_IGN);
  coracle_test::stress run("signals", argc, argv, 500);
  const int count = run.int_count();
  run.expect("signals in another's pipe", come_and_go(count), 0);
  run.expect("signals received", received_once(count), count);
  return run.finish();
}
