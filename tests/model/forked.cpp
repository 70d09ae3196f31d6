// tests/model/forked.cpp -- a forked child's end against its parent, which another thread has taken, or not.
// SPDX-License-Identifier: MIT
#include <coracle/compose/forked.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <stdexcept>

#include "model_test.hpp"
#include "model_waits.hpp"
#include "two_workers.hpp"

namespace {
using coracle::forked;
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

/// join() makes the child's writes visible, and the parent resumes once.
void child_meets_join() {
  two_workers pool;
  plain_int written = 0, beside = 0;
  int ends = 0;
  const auto work = [&]() -> task<int> {
    written = 7;
    co_return 1;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    forked child{work()};
    co_await child.fork();
    beside = 3;
    const int result = co_await child.join();
    model_expect(result == 1 && written == 7 && beside == 3, "what both have done is seen");
    model_expect(coracle::current_executor() == &pool, "it goes on on the pool");
    ++ends;
  };
  on_two_workers(pool, parent);
  model_expect(ends == 1, "it goes on once");
}
/// Two children: the thread that takes the older one also takes everything that follows it.
template <bool WithThird>
void two_children() {
  two_workers pool;
  plain_int first = 0, second = 0;
  int ends = 0;
  const auto work = [](plain_int& to) -> task<> {
    to = 7;
    co_return;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    forked a{work(first)};
    co_await a.fork();
    forked b{work(second)};
    co_await b.fork();
    co_await b.join();
    co_await a.join();
    model_expect(first == 7 && second == 7, "what both have done is seen");
    ++ends;
  };
  WithThird ? on_three_workers(pool, parent) : on_two_workers(pool, parent);
  model_expect(ends == 1, "it goes on once");
}
/// A child of a child: the entry of the first is older.
template <bool WithThird>
void nested() {
  two_workers pool;
  int sum = 0;
  const auto leaf = []() -> task<int> { co_return 1; };
  const auto middle = [&]() -> task<int> {
    forked child{leaf()};
    co_await child.fork();
    co_return 1 + co_await child.join();
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    forked child{middle()};
    co_await child.fork();
    const int mine = co_await leaf();
    sum += mine + co_await child.join();
  };
  WithThird ? on_three_workers(pool, parent) : on_two_workers(pool, parent);
  model_expect(sum == 3, "each is counted once");
}
/// The child waits for something that its parent does.
void child_waits_for_parent() {
  two_workers pool;
  coracle::async_manual_reset_event event;
  int sum = 0;
  const auto waits = [&]() -> task<int> {
    co_await event;
    co_return 5;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    forked child{waits()};
    co_await child.fork();
    event.set();
    sum += co_await child.join();
  };
  on_two_workers(pool, parent);
  model_expect(sum == 5, "it goes on once, with the result");
}
/// join() rethrows the child's exception.
void child_fails() {
  two_workers pool;
  int caught = 0;
  const auto fails = []() -> task<> {
    throw std::runtime_error("child");
    co_return;
  };
  const auto parent = [&]() -> detached {
    co_await pool.schedule();
    forked child{fails()};
    co_await child.fork();
    try {
      co_await child.join();
    } catch (const std::runtime_error&) {
      ++caught;
    }
  };
  on_two_workers(pool, parent);
  model_expect(caught == 1, "the error arrives once");
}
/// An exception leaves the parent: the child ends before anything that it uses is destroyed.
void parent_fails() {
  two_workers pool;
  int caught = 0;
  const auto work = [](plain_int& to) -> task<> {
    to = 7;
    co_return;
  };
  const auto middle = [&]() -> task<> {
    plain_int used_by_child = 0;
    forked child{work(used_by_child)};
    co_await child.fork();
    throw std::runtime_error("parent");
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
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("forked: the child's end against join", model_test::all, child_meets_join);
  run.check("forked: two children", model_test::all, two_children<false>);
  run.check("forked: a child of a child", model_test::all, nested<false>);
  run.check("forked: two children, on three threads", 3, two_children<true>);
  run.check("forked: a child of a child, on three threads", 3, nested<true>);
  run.check("forked: the child waits for its parent", model_test::all, child_waits_for_parent);
  run.check("forked: the child fails", model_test::all, child_fails);
  run.check("forked: the parent fails", model_test::all, parent_fails);
  return run.finish();
}
