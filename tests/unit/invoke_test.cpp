// tests/unit/invoke_test.cpp -- a function lives until what it returns has ended.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::inline_scheduler;
using coracle::operation_cancelled;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::copy_failed;
using coracle::testing::fail_each_allocation;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle::testing::poll;

constexpr std::chrono::hours no_limit = std::chrono::hours::max();
const coracle::task_local<int> some_local{0};

// Each passes on a function unchanged.
template <class F>
using given = F&&;
struct by_invoke {
  static auto start(auto&& f) { return coracle::invoke(static_cast<given<decltype(f)>>(f)); }
};
struct by_make_task {
  static auto start(auto&& f) {
    return coracle::make_task(coracle::invoke(static_cast<given<decltype(f)>>(f)));
  }
};
struct by_when_all {
  static auto start(auto&& f) { return coracle::when_all(static_cast<given<decltype(f)>>(f)); }
};
struct by_when_all_ready {
  static auto start(auto&& f) { return coracle::when_all_ready(static_cast<given<decltype(f)>>(f)); }
};
struct by_when_any {
  static auto start(auto&& f) { return coracle::when_any(static_cast<given<decltype(f)>>(f)); }
};
struct by_select {
  static auto start(auto&& f) { return coracle::select(static_cast<given<decltype(f)>>(f)); }
};
struct by_timeout {
  static auto start(auto&& f) { return coracle::timeout(static_cast<given<decltype(f)>>(f), no_limit); }
};
struct by_stop_at {
  static auto start(auto&& f) {
    return coracle::stop_at(static_cast<given<decltype(f)>>(f), std::chrono::steady_clock::time_point::max());
  }
};
struct by_stop_when {
  static auto start(auto&& f) {
    return coracle::stop_when(static_cast<given<decltype(f)>>(f), coracle::stop_token{});
  }
};
struct by_with_value {
  static auto start(auto&& f) {
    return coracle::with_value(static_cast<given<decltype(f)>>(f), some_local, 1);
  }
};
struct by_schedule_on {
  static auto start(auto&& f) {
    return coracle::schedule_on(static_cast<given<decltype(f)>>(f), inline_scheduler{});
  }
};
struct by_via {
  static auto start(auto&& f) { return coracle::via(static_cast<given<decltype(f)>>(f), inline_scheduler{}); }
};
struct by_with_scope {
  static auto start(auto&& f) {
    return coracle::with_scope([](async_scope&, auto body) { return coracle::invoke(std::move(body)); },
                               static_cast<given<decltype(f)>>(f));
  }
};
struct by_retry {
  static auto start(auto&& f) {
    return coracle::retry({.max_attempts = 1}, static_cast<given<decltype(f)>>(f));
  }
};
struct by_hedge {
  static auto start(auto&& f) { return coracle::hedge(no_limit, static_cast<given<decltype(f)>>(f), 1); }
};
#define EACH_WAY                                                                                           \
  by_invoke, by_make_task, by_when_all, by_when_all_ready, by_when_any, by_select, by_timeout, by_stop_at, \
      by_stop_when, by_with_value, by_schedule_on, by_via, by_with_scope, by_retry, by_hedge

// A lambda with captures, written out: one type for all tests, because each type is compiled with each way.
class closure {
 public:
  using body_type = task<>(const closure&);
  closure(lifetime_probe its_probe, body_type* body, async_manual_reset_event& its_event, int& its_number)
      : probe(std::move(its_probe)), event(its_event), number(its_number), body_(body) {}
  task<> operator()() const { return body_(*this); }

  lifetime_probe probe;
  async_manual_reset_event& event;
  int& number;

 private:
  body_type* body_;
};

TEST_CASE_TEMPLATE("invoke: a lambda and its captures live until its coroutine has ended", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event event;
  int seen = 0;
  {
    const auto body = [](const closure& self) -> task<> {
      co_await self.event;
      self.number = self.probe.id();
    };
    auto work = Way::start(closure(lifetime_probe{log, 7}, body, event, seen));
    CHECK(log.destroyed.empty());
    auto running = poll(std::move(work));
    REQUIRE(!running.ready());
    CHECK(log.destroyed.empty());
    event.set();
    REQUIRE(running.run());
    CHECK(seen == 7);
    running.get();
  }
  CHECK(log.alive == 0);
  CHECK(log.copies == 0);
  CHECK(log.destroyed == std::vector{7});
}
TEST_CASE_TEMPLATE("invoke: a lambda that has a name is copied", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event event;
  int unused = 0;
  const auto start = [&] {
    const auto body = [](const closure& self) -> task<> {
      co_await self.event;
      CHECK(!self.probe.moved_from());
    };
    const closure named(lifetime_probe{log}, body, event, unused);
    return poll(Way::start(named));
  };
  {
    auto running = start();
    REQUIRE(!running.ready());
    CHECK(log.alive >= 1);
    event.set();
    REQUIRE(running.run());
    running.get();
  }
  CHECK(log.alive == 0);
}
TEST_CASE_TEMPLATE("invoke: the captures are destroyed after a stop request, too", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event never;
  int unused = 0;
  {
    const auto body = [](const closure& self) -> task<> {
      co_await self.event;
      FAIL("not stopped");
    };
    auto running = poll(Way::start(closure(lifetime_probe{log, 7}, body, never, unused)));
    REQUIRE(!running.ready());
    running.request_stop();
    REQUIRE(running.run());
    if constexpr (std::is_same_v<Way, by_when_all_ready>) {
      CHECK(std::get<0>(running.get()).is_cancelled());
    } else {
      CHECK_THROWS_AS(running.get(), operation_cancelled);
    }
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{7});
}
TEST_CASE("invoke: what is destroyed while it waits destroys the captures") {
  lifetimes log;
  const auto waits = [](lifetimes& its_log) -> task<> {
    auto named =
        coracle::invoke([probe = lifetime_probe{its_log, 7}]() -> task<> { co_await std::suspend_always{}; });
    co_await std::move(named);
  };
  {
    auto running = poll(waits(log));
    REQUIRE(!running.ready());
    CHECK(log.destroyed.empty());
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{7});
}
TEST_CASE_TEMPLATE("invoke: a copy that throws leaves nothing behind, and nothing is called", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event unused;
  int calls = 0;
  {
    const auto body = [](const closure& self) -> task<> {
      ++self.number;
      co_return;
    };
    const closure named(lifetime_probe{log}, body, unused, calls);
    log.copies_until_throw = 0;
    CHECK_THROWS_AS(static_cast<void>(Way::start(named)), copy_failed);
    CHECK(log.alive == 1);
  }
  CHECK(calls == 0);
}
[[gnu::noinline]] std::unique_ptr<int> on_the_heap(int value) { return std::make_unique<int>(value); }
TEST_CASE_TEMPLATE("invoke: without memory nothing leaks" *
                       doctest::skip(!coracle::testing::allocations_are_counted),
                   Way, EACH_WAY) {
  CHECK(fail_each_allocation([] {
          try {
            sync_wait(Way::start([owned = on_the_heap(1)]() -> task<> { co_return; }));
          } catch (const std::bad_alloc&) {
          }
        }) >= 1);  // clang may make no frame
}
TEST_CASE_TEMPLATE("invoke: an exception of the function is that of the await", Way, EACH_WAY) {
  lifetimes log;
  async_manual_reset_event unused;
  int number = 0;
  const auto body = [](const closure&) -> task<> { throw std::runtime_error("no task"); };
  const closure fails(lifetime_probe{log}, body, unused, number);
  if constexpr (std::is_same_v<Way, by_when_all_ready>) {
    CHECK(std::get<0>(sync_wait(Way::start(fails))).has_error());
  } else {
    auto work = Way::start(fails);
    CHECK_THROWS_WITH_AS(sync_wait(std::move(work)), "no task", std::runtime_error);
  }
  CHECK(log.alive == 1);
}
}  // namespace
