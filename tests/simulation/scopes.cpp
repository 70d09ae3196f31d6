// tests/simulation/scopes.cpp -- every child is joined and no error is lost, under each policy.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/error_group.hpp>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::scope_policy;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;

/// Returns the numbers of the errors in `error`.
std::vector<int> numbers_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const scenario_error& one) {
    return {one.number};
  } catch (const coracle::error_group& group) {
    std::vector<int> all;
    for (const std::exception_ptr& each : group.errors()) {
      for (const int number : numbers_of(each)) all.push_back(number);
    }
    return all;
  }
}

/// Children that fail, sleep, or have children of their own. Records which have started, which have ended,
/// and how.
class family {
 public:
  explicit family(world& its_world) : w(its_world) {}

  task<> child(coracle::async_scope& scope, int depth) {
    const life mine{*this};
    try {
      for (unsigned i = w.below(5); i != 0; --i) {
        co_await coracle::throwing(w.pause());
        if (depth != 0 && w.one_in(3)) scope.spawn(w.place(), child(scope, depth - 1));
      }
    } catch (const coracle::operation_cancelled&) {
      ++ended_cancelled;
      throw;
    }
    if (w.one_in(8)) {
      thrown.push_back(++last_error_);
      throw scenario_error(last_error_);
    }
  }
  [[nodiscard]] int alive() const noexcept { return alive_; }
  /// Awaits `work`, and stores its exception.
  template <class Awaitable>
  task<> outcome_of(Awaitable work) {
    try {
      co_await std::move(work);
    } catch (const coracle::operation_cancelled&) {
      cancelled = true;
    } catch (...) {
      caught = numbers_of(std::current_exception());
    }
  }
  void expect_all_errors(const std::vector<int>& found) const {
    auto a = thrown;
    auto b = found;
    std::ranges::sort(a);
    std::ranges::sort(b);
    w.expect(a == b, "each error that was thrown arrives, once");
  }

  world& w;
  std::vector<int> thrown, caught;
  int ended_cancelled = 0;
  bool cancelled = false;

 private:
  struct life {
    explicit life(family& its) : all(its) { ++all.alive_; }
    life(const life&) = delete;
    life& operator=(const life&) = delete;
    ~life() { --all.alive_; }
    family& all;
  };
  int alive_ = 0, last_error_ = 0;
};

/// The scope may be stopped by itself, by the coroutine that joins it, or not at all.
void run_scope(coracle_test::simulation& sim, family& people, scope_policy policy) {
  world& w = people.w;
  const auto all = [&]() -> task<> {
    coracle::async_scope scope{std::move(policy)};
    const unsigned children = 2 + w.below(6);
    for (unsigned i = 0; i != children; ++i) {
      scope.spawn(w.place(), people.child(scope, 2));
      co_await w.pause();
    }
    if (w.one_in(4)) scope.request_stop();
    const auto token = w.a_token();
    co_await people.outcome_of(coracle::with_stop(scope.join(), token));
    w.expect(people.alive() == 0, "join() has waited for every child");
    if (people.thrown.empty() && people.ended_cancelled != 0 && token.stop_requested()) {
      w.expect(people.cancelled, "join() says that a child was cancelled");
    }
    if (people.thrown.empty() && people.cancelled) {
      w.expect(token.stop_requested() || scope.get_token().stop_requested(),
               "who is cancelled was asked to stop");
    }
  };
  sim.run(all());
}

void fail_fast(coracle_test::simulation& sim) {
  world w{sim};
  family people{w};
  run_scope(sim, people, scope_policy::fail_fast());
  people.expect_all_errors(people.caught);
}

void collect_all(coracle_test::simulation& sim) {
  world w{sim};
  family people{w};
  run_scope(sim, people, scope_policy::collect_all());
  people.expect_all_errors(people.caught);
}

void supervise(coracle_test::simulation& sim) {
  world w{sim};
  family people{w};
  std::vector<int> handled;
  run_scope(sim, people, scope_policy::supervise([&](const std::exception_ptr& error) {
              for (const int number : numbers_of(error)) handled.push_back(number);
            }));
  w.expect(people.caught.empty(), "join() throws nothing that the supervisor has got");
  people.expect_all_errors(handled);
}

/// The body is one of the children. Its scope is joined on every way out, also when it is stopped from
/// outside.
void with_scope(coracle_test::simulation& sim) {
  world w{sim};
  family people{w};
  const auto body = [&](coracle::async_scope& scope) -> task<> {
    for (unsigned i = w.below(4); i != 0; --i) scope.spawn(w.place(), people.child(scope, 1));
    co_await people.child(scope, 2);
  };
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    co_await people.outcome_of(coracle::with_stop(coracle::with_scope(body), token));
    w.expect(people.alive() == 0, "with_scope() has joined every child");
    if (people.thrown.empty() && people.cancelled)
      w.expect(token.stop_requested(), "who is cancelled was asked to");
  };
  sim.run(all());
  people.expect_all_errors(people.caught);
}

/// Results and errors of children with futures: each error surfaces once, from the future or from join().
void futures(coracle_test::simulation& sim) {
  world w{sim};
  std::vector<int> thrown, from_futures, from_join;
  const auto work = [&](int number) -> task<int> {
    co_await w.pause();
    co_await w.pause();
    if (w.one_in(3)) {
      thrown.push_back(number);
      throw scenario_error(number);
    }
    co_return number;
  };
  const auto all = [&]() -> task<> {
    coracle::async_scope scope{w.one_in(2) ? scope_policy::fail_fast() : scope_policy::collect_all()};
    std::vector<coracle::scope_future<int>> pending;
    for (int i = 0; i != 4; ++i)
      pending.push_back(scope.spawn_future(coracle::schedule_on(work(i), w.place())));
    for (int i = 0; i != 4; ++i) {
      auto& future = pending[static_cast<std::size_t>(i)];
      if (w.one_in(3)) continue;  // nobody asks for it
      co_await w.pause();
      try {
        const int got = co_await std::move(future);
        w.expect(got == i, "a future gives the result of its child");
      } catch (const coracle::operation_cancelled&) {
      } catch (...) {
        for (const int number : numbers_of(std::current_exception())) from_futures.push_back(number);
      }
    }
    if (w.one_in(2)) pending.clear();
    try {
      co_await scope.join();
    } catch (const coracle::operation_cancelled&) {
    } catch (...) {
      from_join = numbers_of(std::current_exception());
    }
  };
  sim.run(all());
  for (const int each : from_futures) from_join.push_back(each);
  std::ranges::sort(from_join);
  std::ranges::sort(thrown);
  w.expect(from_join == thrown, "each error surfaces in one place");
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"async_scope: fail_fast", fail_fast},
                                          {"async_scope: collect_all", collect_all},
                                          {"async_scope: supervise", supervise},
                                          {"with_scope", with_scope},
                                          {"async_scope: futures", futures}});
}
