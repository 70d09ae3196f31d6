// tests/trace/traced.cpp -- writes a trace of tasks that run, are queued, wait for a lock, for time and for
// children.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/inspect/trace.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace {
using coracle::task;
using namespace std::chrono_literals;

template <class T>
task<T> look_up(coracle::async_mutex& mutex, T value) {
  const auto lock = co_await mutex.scoped_lock_async();
  co_await coracle::sleep_for(1ms);
  co_return value;
}
task<> serve(coracle::static_thread_pool& pool, coracle::async_mutex& mutex) {
  co_await pool.schedule();
  auto in_lambda = [&]() -> task<> { co_await look_up<std::string>(mutex, "text"); };
  for (int i = 0; i < 3; ++i) {
    co_await coracle::this_task::yield();
    co_await coracle::when_all(look_up(mutex, 1), in_lambda());
  }
}
}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  coracle::start_trace();
  {
    coracle::static_thread_pool pool(2);
    coracle::async_mutex mutex;
    std::vector<task<>> all;
    for (int i = 0; i < 8; ++i) all.push_back(serve(pool, mutex));
    coracle::sync_wait(coracle::when_all(std::move(all)));
  }
  coracle::stop_trace().write(arguments[1]);
}
