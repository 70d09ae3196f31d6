// tests/model/fork_join.cpp -- the ends of tasks against the start of the rest by another thread.
// SPDX-License-Identifier: MIT
#include <coracle/compose/fork_join.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>

#include "framework/model_test.hpp"
#include "model_waits.hpp"
#include "two_workers.hpp"

namespace {
using coracle::fork_join;
using coracle::task;
using namespace coracle_test;
using plain_int = coracle::detail::plain<int>;

/// Runs `parent` on two workers, the second of which tries to steal once.
template <class Parent>
void on_two_workers(two_workers& pool, Parent& parent) {
  parent();
  model_thread helper{[&] { pool.help(); }};
  pool.run_some();
  helper.join();
  pool.run_some();
}
template <class Parent>
void on_three_workers(two_workers& pool, Parent& parent) {
  parent();
  model_thread helper{[&] { pool.help(); }};
  model_thread another{[&] { pool.help_too(); }};
  pool.run_some();
  helper.join();
  another.join();
  pool.run_some();
}

/// The parent sees what both tasks have done, and resumes once.
template <bool WithThird>
void of_two() {
  two_workers pool;
  plain_int first = 0, second = 0;
  int ends = 0;
  const auto work = [](plain_int& to) -> task<int> {
    to = 7;
    co_return 1;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    const auto [a, b] = co_await fork_join(work(first), work(second));
    model_expect(a + b == 2 && first == 7 && second == 7, "what both have done is seen");
    model_expect(coracle::current_executor() == &pool, "it goes on on the pool");
    ++ends;
  };
  WithThird ? on_three_workers(pool, parent) : on_two_workers(pool, parent);
  model_expect(ends == 1, "it goes on once");
}
/// The thread that takes the rest offers what remains of it.
template <bool WithThird>
void of_three() {
  two_workers pool;
  plain_int seen[3] = {};
  int ends = 0;
  const auto work = [](plain_int& to) -> task<> {
    to = 7;
    co_return;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    co_await fork_join(work(seen[0]), work(seen[1]), work(seen[2]));
    model_expect(seen[0] == 7 && seen[1] == 7 && seen[2] == 7, "what all have done is seen");
    ++ends;
  };
  WithThird ? on_three_workers(pool, parent) : on_two_workers(pool, parent);
  model_expect(ends == 1, "it goes on once");
}
/// The entry of the outer one is older.
template <bool WithThird>
void nested() {
  two_workers pool;
  int sum = 0;
  const auto leaf = []() -> task<int> { co_return 1; };
  const auto middle = [&]() -> task<int> {
    const auto [a, b] = co_await fork_join(leaf(), leaf());
    co_return a + b;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    const auto [a, b] = co_await fork_join(middle(), leaf());
    sum += a + b;
  };
  WithThird ? on_three_workers(pool, parent) : on_two_workers(pool, parent);
  model_expect(sum == 3, "each is counted once");
}
/// The first task waits for something that the second does.
void one_waits_for_the_other() {
  two_workers pool;
  coracle::async_manual_reset_event event;
  int sum = 0;
  const auto waits = [&]() -> task<int> {
    co_await event;
    co_return 5;
  };
  const auto sets = [&]() -> task<int> {
    event.set();
    co_return 1;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    const auto [a, b] = co_await fork_join(waits(), sets());
    sum += a + b;
  };
  on_two_workers(pool, parent);
  model_expect(sum == 6, "it goes on once, with the results");
}
/// Of three, the first two wait for the last.
void two_wait_for_the_last() {
  two_workers pool;
  coracle::async_manual_reset_event event;
  int ends = 0;
  const auto waits = [&]() -> task<> { co_await event; };
  const auto sets = [&]() -> task<> {
    event.set();
    co_return;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    co_await fork_join(waits(), waits(), sets());
    ++ends;
  };
  on_two_workers(pool, parent);
  model_expect(ends == 1, "it goes on once");
}
/// One fails: what it and the other use is destroyed only after both have ended.
template <bool First>
void one_fails() {
  two_workers pool;
  int caught = 0;
  const auto works = [](plain_int& to) -> task<> {
    to = 7;
    co_return;
  };
  const auto fails = []() -> task<> {
    throw std::runtime_error("child");
    co_return;
  };
  const auto middle = [&]() -> task<> {
    plain_int used = 0;
    if constexpr (First) {
      co_await fork_join(fails(), works(used));
    } else {
      co_await fork_join(works(used), fails());
    }
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    try {
      co_await middle();
    } catch (const std::runtime_error&) {
      ++caught;
    }
  };
  on_two_workers(pool, parent);
  model_expect(caught == 1, "the error arrives once");
}
/// The first of three fails while another thread may have begun the rest.
void first_of_three_fails() {
  two_workers pool;
  int caught = 0;
  const auto works = []() -> task<> { co_return; };
  const auto fails = []() -> task<> {
    throw std::runtime_error("child");
    co_return;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    try {
      co_await fork_join(fails(), works(), works());
    } catch (const std::runtime_error&) {
      ++caught;
    }
  };
  on_two_workers(pool, parent);
  model_expect(caught == 1, "the error arrives once");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("fork_join: of two", model_test::all, of_two<false>);
  run.check("fork_join: of three", model_test::all, of_three<false>);
  run.check("fork_join: one below another", model_test::all, nested<false>);
  run.check("fork_join: of two, on three threads", 3, of_two<true>);
  run.check("fork_join: of three, on three threads", 3, of_three<true>);
  run.check("fork_join: one below another, on three threads", 3, nested<true>);
  run.check("fork_join: one waits for the other", model_test::all, one_waits_for_the_other);
  run.check("fork_join: two wait for the last", model_test::all, two_wait_for_the_last);
  run.check("fork_join: the first fails", model_test::all, one_fails<true>);
  run.check("fork_join: the last fails", model_test::all, one_fails<false>);
  run.check("fork_join: the first of three fails", model_test::all, first_of_three_fails);
  return run.finish();
}
