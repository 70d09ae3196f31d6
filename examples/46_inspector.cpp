// examples/46_inspector.cpp -- a stuck program, and a page that shows why: give it the seconds to live.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/inspect/inspector.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>
#include <cstdlib>

using namespace std::chrono_literals;

coracle::async_mutex savings, checking;

coracle::task<> transfer(coracle::async_mutex& from, coracle::async_mutex& to) {
  const auto debit = co_await from.scoped_lock_async();
  co_await coracle::sleep_for(1ms);
  const auto credit = co_await to.scoped_lock_async();
  std::puts("transferred");
}
coracle::task<> transfer_both_ways() {
  co_await coracle::when_all(transfer(savings, checking), transfer(checking, savings));
}

coracle::task<> run(std::chrono::seconds lifetime) {
  co_await coracle::when_any(transfer_both_ways(), coracle::sleep_for(lifetime));
  std::puts("no transfer has ended");
}

int main(int argc, char** argv) {
  const coracle::inspector here("127.0.0.1:0");
  std::fprintf(stderr, "%s\n", here.url().c_str());  // for a browser
  coracle::io_service io;
  io.run(run(std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 0)));
}

// Output:
//   no transfer has ended
