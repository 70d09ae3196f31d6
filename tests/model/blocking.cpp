// tests/model/blocking.cpp -- blocking calls, and their threads, which come and go.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/exec/blocking.hpp>

#include "model_waits.hpp"

namespace {
using coracle::blocking;
using coracle::blocking_pool;
using coracle::detail::one_shot;
using namespace coracle_test;
constexpr std::chrono::milliseconds idle_time{5};

/// The model resumes the coroutine of a finished call on the pool's thread.
detached add_in(blocking_pool& pool, plain_int& sum, one_shot& done) {
  const auto add = [&sum] { sum += 1; };
  co_await blocking(pool, add);
  sum += 10;
  done.set();
}

void one_call() {
  plain_int sum = 31;
  one_shot done;
  blocking_pool pool{1, idle_time};
  add_in(pool, sum, done);
  done.wait();
  model_expect(sum == 42, "called, and gone on");
}
/// When the second call arrives, the thread may have been idle too long and be about to end.
void one_after_the_other() {
  plain_int sum = 20;
  one_shot first, second;
  blocking_pool pool{1, idle_time};
  add_in(pool, sum, first);
  first.wait();
  add_in(pool, sum, second);
  second.wait();
  model_expect(sum == 42, "both were called");
}
/// Two concurrent calls, with at most `Most` threads.
template <std::size_t Most>
void two_calls() {
  plain_int first_sum = 0, second_sum = 0;
  one_shot first, second;
  blocking_pool pool{Most, idle_time};
  add_in(pool, first_sum, first);
  add_in(pool, second_sum, second);
  first.wait();
  second.wait();
  model_expect(first_sum == 11 && second_sum == 11, "each was called once");
}
void two_callers() {
  plain_int first_sum = 0, second_sum = 0;
  one_shot first, second;
  blocking_pool pool{1, idle_time};
  model_thread other{[&] { add_in(pool, first_sum, first); }};
  add_in(pool, second_sum, second);
  second.wait();
  first.wait();
  model_expect(first_sum == 11 && second_sum == 11, "each was called once");
}
/// The first call ends only when the second has begun, so there must be a second thread.
void second_thread_comes() {
  one_shot begun, first, second;
  const auto wait = [&] { begun.wait(); };
  const auto begin = [&] { begun.set(); };
  blocking_pool pool{2, idle_time};
  const auto call = [&pool](auto& what, one_shot& done) -> detached {
    co_await blocking(pool, what);
    done.set();
  };
  call(wait, first);
  call(begin, second);
  first.wait();
  second.wait();
}
/// The call that waits for a thread is either cancelled or made, never both.
void stop_while_it_waits() {
  stoppable_place place;
  plain_int sum = 0;
  int calls = 0;
  one_shot first;
  wait_end end = wait_end::waits;
  {
    const auto count = [&calls] { ++calls; };
    blocking_pool pool{1, idle_time};
    add_in(pool, sum, first);
    note_end(place, blocking(pool, count), end);
    place.request_stop();
    first.wait();
    while (pool.thread_count() != 0) coracle::testing::model_yield();
  }
  model_expect(end == (calls == 1 ? wait_end::carried_out : wait_end::cancelled), "made, or cancelled");
  coracle::testing::model_record(calls == 1 ? "made" : "cancelled");
}
/// Idle threads end after a while.
void idle_threads_end() {
  plain_int sum = 31;
  one_shot done;
  blocking_pool pool{1, idle_time};
  add_in(pool, sum, done);
  done.wait();
  while (pool.thread_count() != 0) coracle::testing::model_yield();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("blocking: one call", 4, one_call);
  run.check("blocking: one after the other", 3, one_after_the_other);
  run.check("blocking: two calls for one thread", 4, two_calls<1>);
  run.check("blocking: two calls for two threads", 2, two_calls<2>);
  run.check("blocking: two callers", 3, two_callers);
  run.check("blocking: a second thread comes", 2, second_thread_comes);
  run.check("blocking: stopped while it waits for a thread", 3, stop_while_it_waits);
  run.check("blocking: idle threads end", 4, idle_threads_end);
  return run.finish();
}
