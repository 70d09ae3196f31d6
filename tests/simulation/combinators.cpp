// tests/simulation/combinators.cpp -- when_all and when_any join all children and lose no error.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;

/// Returns the number of errors in the exception, or 0 if it is a cancellation.
int count_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const scenario_error&) {
    return 1;
  } catch (const coracle::error_group& group) {
    return static_cast<int>(group.errors().size());
  } catch (const coracle::operation_cancelled&) {
    return 0;
  }
}

/// Work that counts how often it began, completed, failed and was cancelled.
class workers {
 public:
  explicit workers(world& its_world) : w(its_world) {}
  task<int> work(int number) {
    ++begun;
    bool over = false;
    const auto on_stop = coracle::on_scope_exit([&] { cancelled += over ? 0 : 1; });
    for (unsigned i = w.below(4); i != 0; --i) co_await w.pause();
    if (w.one_in(2)) {
      try {
        co_await coracle::throwing(w.pause());
      } catch (const coracle::operation_cancelled&) {
        over = w.one_in(4);
        if (over) fail(number);  // what it does then to clean up
        throw;
      }
    }
    over = true;
    if (w.one_in(6)) fail(number);
    ended.push_back(number);
    co_return number;
  }
  /// May complete or fail immediately; later children are then not started.
  task<int> one(int number) {
    if (w.one_in(2)) return work(number);
    return coracle::schedule_on(work(number), w.place());
  }
  std::vector<task<int>> some(unsigned count) {
    std::vector<task<int>> all;
    for (unsigned i = 0; i != count; ++i) all.push_back(one(static_cast<int>(i)));
    return all;
  }
  void expect_joined() const {
    w.expect(begun == static_cast<int>(ended.size()) + failed + cancelled, "all that began has ended");
  }

  /// Of `thrown`, in which the work of all has ended.
  void expect_all_errors(const std::exception_ptr& thrown, const coracle::stop_token& token) const {
    expect_joined();
    const int errors = count_of(thrown);
    w.expect(errors == failed, "each error arrives");
    if (errors == 0) w.expect(token.stop_requested(), "who is cancelled was asked to stop");
  }

  [[noreturn]] void fail(int number) {
    ++failed;
    throw scenario_error(number);
  }

  world& w;
  int begun = 0, failed = 0, cancelled = 0;
  std::vector<int> ended;
};

void when_all(coracle_test::simulation& sim) {
  world w{sim};
  workers team{w};
  const unsigned count = 1 + w.below(5);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    try {
      const std::vector<int> results =
          co_await coracle::with_stop(coracle::when_all(team.some(count)), token);
      team.expect_joined();
      w.expect(results.size() == count && team.ended.size() == count, "all results are there");
      for (unsigned i = 0; i != count; ++i) w.expect(results[i] == static_cast<int>(i), "each at its place");
    } catch (...) {
      team.expect_all_errors(std::current_exception(), token);
    }
  };
  sim.run(all());
}

void when_all_of_three(coracle_test::simulation& sim) {
  world w{sim};
  workers team{w};
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    try {
      const auto [a, b, c] =
          co_await coracle::with_stop(coracle::when_all(team.one(0), team.one(1), team.one(2)), token);
      team.expect_joined();
      w.expect(team.ended.size() == 3 && a == 0 && b == 1 && c == 2, "each result at its place");
    } catch (...) {
      team.expect_all_errors(std::current_exception(), token);
    }
  };
  sim.run(all());
}

/// No child stops another one, and every child runs.
void when_all_ready(coracle_test::simulation& sim) {
  world w{sim};
  workers team{w};
  const unsigned count = 1 + w.below(5);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    auto ends = co_await coracle::with_stop(coracle::when_all_ready(team.some(count)), token);
    team.expect_joined();
    w.expect(ends.size() == count, "all outcomes are there");
    unsigned values = 0, errors = 0, cancelled = 0;
    for (auto& end : ends) {
      values += end.has_value();
      errors += end.has_error();
      cancelled += end.is_cancelled();
    }
    w.expect(values == team.ended.size() && static_cast<int>(errors) == team.failed, "each is its child's");
    w.expect(values + errors + cancelled == count, "none is empty");
  };
  sim.run(all());
}

void when_any(coracle_test::simulation& sim) {
  world w{sim};
  workers team{w};
  const unsigned count = 1 + w.below(5);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    try {
      auto first = co_await coracle::with_stop(coracle::when_any(team.some(count)), token);
      team.expect_joined();
      w.expect(!team.ended.empty() && team.ended.front() == first.value, "the first to end wins");
      w.expect(static_cast<int>(first.index) == first.value, "its index is its own");
    } catch (...) {
      team.expect_all_errors(std::current_exception(), token);
    }
  };
  sim.run(all());
}

void when_any_succeeds(coracle_test::simulation& sim) {
  world w{sim};
  workers team{w};
  const unsigned count = 1 + w.below(5);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    try {
      auto first = co_await coracle::with_stop(coracle::when_any_succeeds(team.some(count)), token);
      team.expect_joined();
      w.expect(!team.ended.empty() && team.ended.front() == first.value, "the first to succeed wins");
      w.expect(static_cast<int>(first.index) == first.value, "its index is its own");
    } catch (...) {
      team.expect_joined();
      const int errors = count_of(std::current_exception());
      w.expect(team.ended.empty(), "nobody has succeeded");
      w.expect(errors == team.failed, "each error arrives");
      if (errors != static_cast<int>(count)) w.expect(token.stop_requested(), "or was asked to stop");
    }
  };
  sim.run(all());
}

/// A race for permits, a lock, a signal and a timer: only the winning branch takes effect.
void races(coracle_test::simulation& sim) {
  world w{sim};
  coracle::async_semaphore permits{1};
  coracle::async_mutex mutex;
  coracle::async_auto_reset_event signal;
  int held_permits = 0, signals_sent = 0, signals_taken = 0;
  bool locked = false;
  const auto racer = [&]() -> task<> {
    for (int i = 0; i != 5; ++i) {
      co_await w.pause();
      auto chosen = co_await w.attempt(coracle::when_any(
          permits.acquire(), mutex.lock_async(), signal.operator co_await(), coracle::sleep_for(4us)));
      if (!chosen) continue;
      const std::size_t which = chosen->index();
      if (which == 0) {
        w.expect(++held_permits == 1, "one permit, one holder");
        co_await w.pause();
        --held_permits;
        permits.release();
      } else if (which == 1) {
        w.expect(!std::exchange(locked, true), "one lock, one holder");
        co_await w.pause();
        locked = false;
        mutex.unlock();
      } else if (which == 2) {
        ++signals_taken;
      }
    }
  };
  const auto signaller = [&]() -> task<> {
    for (int i = 0; i != 4; ++i) {
      co_await w.pause();
      signal.set();
      ++signals_sent;
    }
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(coracle::schedule_on(racer(), w.place()),
                               coracle::schedule_on(racer(), w.place()),
                               coracle::schedule_on(racer(), w.place()), signaller());
    w.expect(permits.try_acquire(), "the permit has come back");
    permits.release();
    w.expect(mutex.try_lock(), "the lock is free");
    mutex.unlock();
    w.expect(signals_taken <= signals_sent, "no signal wakes two");
  };
  sim.run(all());
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"when_all", when_all},
                                          {"when_all of three", when_all_of_three},
                                          {"when_all_ready", when_all_ready},
                                          {"when_any", when_any},
                                          {"when_any_succeeds", when_any_succeeds},
                                          {"when_any of waits", races, {.stalls = true}}});
}
