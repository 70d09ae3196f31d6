// tests/unit/via_test.cpp -- where an awaitable runs, and where the awaiting coroutine resumes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "../support/detached.hpp"
#include "child_tasks.hpp"

namespace {
using coracle::current_executor;
using coracle::executor;
using coracle::run_loop;
using coracle::task;
using coracle_test::detached;
using coracle_test::give;
using coracle_test::run_detached;
using coracle_test::run_detached_on;

task<const executor*> where() { co_return current_executor(); }
task<> fail() {
  throw std::runtime_error("failed there");
  co_return;
}

/// The observations of a coroutine that started on `home`.
struct journey {
  const executor* child_on = nullptr;
  const executor* after_on = nullptr;
  bool threw = false;
  bool ended = false;
};
/// Awaits `work`, which returns where it ran, and records where this coroutine resumes.
template <class Work>
task<> look_around(Work work, journey& seen) {
  seen.child_on = co_await std::move(work);
  seen.after_on = current_executor();
  seen.ended = true;
}

TEST_CASE("schedule_on: runs the awaitable on the scheduler, and the awaiter goes on there") {
  run_loop home, abroad;
  journey seen;
  run_detached_on(home, look_around(coracle::schedule_on(where(), abroad), seen));
  CHECK(home.run_one());
  CHECK_FALSE(seen.ended);
  CHECK(abroad.run_one());
  CHECK(seen.ended);
  CHECK(seen.child_on == &abroad);
  CHECK(seen.after_on == &abroad);
  CHECK_FALSE(home.run_one());
}

TEST_CASE("resume_on: runs the awaitable here, and the awaiter goes on on the scheduler") {
  run_loop home, abroad;
  journey seen;
  run_detached_on(home, look_around(coracle::resume_on(where(), abroad), seen));
  CHECK(home.run_one());
  CHECK_FALSE(seen.ended);
  CHECK(abroad.run_one());
  CHECK(seen.ended);
  CHECK(seen.child_on == &home);
  CHECK(seen.after_on == &abroad);
}

TEST_CASE("via: runs the awaitable on the scheduler, and the awaiter goes on where it was") {
  run_loop home, abroad;
  journey seen;
  run_detached_on(home, look_around(coracle::via(where(), abroad), seen));
  CHECK(home.run_one());
  CHECK(seen.child_on == nullptr);
  CHECK(abroad.run_one());
  CHECK_FALSE(seen.ended);
  CHECK(home.run_one());
  CHECK(seen.ended);
  CHECK(seen.child_on == &abroad);
  CHECK(seen.after_on == &home);
}

TEST_CASE("via: comes back from wherever the awaitable ended") {
  run_loop home, abroad, elsewhere;
  journey seen;
  const auto wander = [&]() -> task<> { co_await elsewhere.schedule(); };
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await coracle::via(wander(), abroad);
    seen.after_on = current_executor();
  };
  work();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(elsewhere.run_one());
  CHECK(seen.after_on == nullptr);
  CHECK(home.run_one());
  CHECK(seen.after_on == &home);
}

TEST_CASE("via: an awaiter outside any executor goes on where the awaitable ended") {
  run_loop abroad;
  journey seen;
  run_detached(look_around(coracle::via(where(), abroad), seen));
  CHECK_FALSE(seen.ended);
  CHECK(abroad.run_one());
  CHECK(seen.ended);
  CHECK(seen.child_on == &abroad);
  CHECK(seen.after_on == &abroad);
}

TEST_CASE("via: where the awaiter is on the scheduler already it is posted once to run the awaitable") {
  run_loop home;
  journey seen;
  const auto work = [&]() -> detached {
    co_await home.schedule();
    co_await coracle::via(where(), home);
    seen.ended = true;
  };
  work();
  CHECK(home.run_one());
  CHECK_FALSE(seen.ended);
  CHECK(home.run_one());
  CHECK(seen.ended);
}

TEST_CASE("schedule_on, resume_on, via: an exception takes the same way as a result") {
  enum class form { schedule_on, resume_on, via };
  for (const form which : {form::schedule_on, form::resume_on, form::via}) {
    run_loop home, abroad;
    journey seen;
    const auto work = [&]() -> detached {
      co_await home.schedule();
      try {
        if (which == form::schedule_on) {
          co_await coracle::schedule_on(fail(), abroad);
        } else if (which == form::resume_on) {
          co_await coracle::resume_on(fail(), abroad);
        } else {
          co_await coracle::via(fail(), abroad);
        }
      } catch (const std::runtime_error& error) {
        seen.threw = error.what() == std::string("failed there");
        seen.after_on = current_executor();
      }
    };
    work();
    CHECK(home.run_one());
    CHECK_FALSE(seen.threw);
    CHECK(abroad.run_one());
    CHECK(seen.threw == (which != form::via));
    CHECK(home.run_one() == (which == form::via));
    CHECK(seen.threw);
    CHECK(seen.after_on == (which == form::via ? &home : &abroad));
  }
}

TEST_CASE("schedule_on, resume_on, via: values, references and move-only results pass through") {
  coracle::inline_scheduler here;
  std::string text = "text";
  const auto work = [&]() -> task<> {
    const auto a = co_await coracle::schedule_on(give(1), here);
    CHECK(a == 1);
    const auto& b = co_await coracle::resume_on(give<std::string&>(text), here);
    CHECK(&b == &text);
    const auto c = co_await coracle::via(give(std::make_unique<int>(3)), here);
    CHECK(*c == 3);
    const auto& d = co_await coracle::via(give<const std::string&>(text), here);
    CHECK(&d == &text);
    const auto e = co_await coracle::resume_on(give(std::make_unique<int>(4)), here);
    CHECK(*e == 4);
    static_assert(std::is_void_v<coracle::await_result_t<decltype(coracle::via(fail(), here))>>);
  };
  coracle::sync_wait(work());
}

/// Counts its copies, to show whether an awaitable holds it by reference.
struct counting_scheduler {
  explicit counting_scheduler(int& its_copies) : copies(&its_copies) {}
  counting_scheduler(const counting_scheduler& other) : copies(other.copies) { ++*copies; }
  counting_scheduler(counting_scheduler&& other) noexcept = default;
  std::suspend_never schedule() const noexcept { return {}; }
  int* copies;
};

TEST_CASE("schedule_on, resume_on, via: keep a named scheduler by reference and a temporary one inside") {
  int copies = 0;
  counting_scheduler place(copies);
  CHECK(coracle::sync_wait(coracle::schedule_on(give(1), place)) == 1);
  CHECK(coracle::sync_wait(coracle::resume_on(give(2), place)) == 2);
  CHECK(coracle::sync_wait(coracle::via(give(3), place)) == 3);
  CHECK(copies == 0);
  auto held = coracle::schedule_on(give(4), counting_scheduler(copies));
  CHECK(coracle::sync_wait(std::move(held)) == 4);
  CHECK(copies == 0);
}

TEST_CASE("schedule_on, resume_on, via: refer to a named awaitable, which need not be copyable") {
  coracle::static_thread_pool pool{1};
  const coracle::async_manual_reset_event set{true};
  const auto await_all = [&]() -> task<> {
    co_await coracle::schedule_on(set, pool);
    co_await coracle::resume_on(set, pool);
    co_await coracle::via(set, pool);
    co_await (set | coracle::via(pool));
  };
  coracle::sync_wait(await_all());
}

TEST_CASE("schedule_on, resume_on, via: the awaitable inherits the environment of the awaiter") {
  coracle::inline_scheduler here;
  coracle::stop_source source;
  int found = 0;
  const auto ask = [&]() -> task<> {
    const auto token = co_await coracle::this_task::stop_token();
    if (token == source.get_token()) ++found;
  };
  const auto work = [&]() -> task<> {
    co_await coracle::schedule_on(ask(), here);
    co_await coracle::resume_on(ask(), here);
    co_await coracle::via(ask(), here);
  };
  coracle::sync_wait(coracle::with_stop(work(), source.get_token()));
  CHECK(found == 3);
}

TEST_CASE(
    "schedule_on, resume_on, via: nothing happens before the await, and unused ones free the awaitable") {
  run_loop abroad;
  const auto owner = std::make_shared<int>(1);
  const auto hold = [](std::shared_ptr<int> kept) -> task<int> { co_return *kept; };
  {
    [[maybe_unused]] const auto a = coracle::schedule_on(hold(owner), abroad);
    [[maybe_unused]] const auto b = coracle::resume_on(hold(owner), abroad);
    [[maybe_unused]] const auto c = coracle::via(hold(owner), abroad);
    CHECK(owner.use_count() == 4);
    CHECK_FALSE(abroad.run_one());
  }
  CHECK(owner.use_count() == 1);
}

TEST_CASE("schedule_on, resume_on, via: value | f(scheduler) is what f gives, and chains") {
  run_loop home, abroad, last;
  journey seen;
  const auto work = [&]() -> detached {
    co_await home.schedule();
    seen.child_on = co_await (where() | coracle::schedule_on(abroad) | coracle::resume_on(last));
    seen.after_on = current_executor();
    co_await last.schedule();
    seen.child_on = co_await (where() | coracle::via(abroad));
    seen.ended = current_executor() == &last;
  };
  work();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(last.run_one());
  CHECK(seen.child_on == &abroad);
  CHECK(seen.after_on == &last);
  seen.child_on = nullptr;
  CHECK(last.run_one());
  CHECK(abroad.run_one());
  CHECK(last.run_one());
  CHECK(seen.child_on == &abroad);
  CHECK(seen.ended);
}

TEST_CASE(
    "schedule_on, resume_on, via: a pipe keeps a named scheduler by reference and a temporary one inside") {
  int copies = 0;
  counting_scheduler place(copies);
  CHECK(coracle::sync_wait(give(1) | coracle::schedule_on(place)) == 1);
  CHECK(coracle::sync_wait(give(2) | coracle::resume_on(place) | coracle::via(place)) == 2);
  CHECK(copies == 0);
  auto held = give(3) | coracle::via(counting_scheduler(copies));
  CHECK(coracle::sync_wait(std::move(held)) == 3);
  CHECK(copies == 0);
}

TEST_CASE(
    "schedule_on, resume_on, via: f(scheduler) can be kept and used again, its scheduler stays in place") {
  int copies = 0;
  const auto counted = coracle::resume_on(counting_scheduler(copies));
  CHECK(coracle::sync_wait(give(3) | counted) == 3);
  CHECK(copies == 0);
  const coracle::inline_scheduler here;
  const auto there = coracle::schedule_on(here);
  auto back = coracle::via(coracle::inline_scheduler{});
  CHECK(coracle::sync_wait(give(1) | there | back) == 1);
  CHECK(coracle::sync_wait(give(2) | there | back) == 2);
}

TEST_CASE("schedule_on, resume_on, via: a pipe passes values that only move, references and exceptions") {
  coracle::inline_scheduler here;
  std::string text = "text";
  CHECK(*coracle::sync_wait(give(std::make_unique<int>(3)) | coracle::via(here)) == 3);
  CHECK(&coracle::sync_wait(give<std::string&>(text) | coracle::resume_on(here)) == &text);
  CHECK_THROWS_WITH_AS(coracle::sync_wait(fail() | coracle::schedule_on(here)), "failed there",
                       std::runtime_error);
}

coracle::async_generator<std::thread::id> places(int count) {
  for (int i = 0; i != count; ++i) co_yield std::this_thread::get_id();
}
TEST_CASE("schedule_on: each element of an async_generator is computed on the scheduler") {
  coracle::static_thread_pool pool{1}, other{1};
  const auto check = [&]() -> task<int> {
    co_await pool.schedule();
    const std::thread::id there = std::this_thread::get_id();
    auto seen = coracle::schedule_on(places(3), pool);
    int count = 0;
    while (const auto* place = co_await seen.next()) {
      count += *place == there;
      co_await other.schedule();
    }
    co_return count;
  };
  CHECK(sync_wait(check()) == 3);
}

coracle::async_generator<int> throws_after(coracle::static_thread_pool& pool, int count) {
  for (int i = 0; i != count; ++i) {
    co_await pool.schedule();
    co_yield i;
  }
  throw std::runtime_error("no more");
}
TEST_CASE("resume_on: each element of an async_generator, and its exception, are met on the scheduler") {
  coracle::static_thread_pool pool{1}, other{1};
  const auto check = [&]() -> task<std::string> {
    co_await pool.schedule();
    const std::thread::id here = std::this_thread::get_id();
    auto seen = coracle::resume_on(throws_after(other, 3), pool);
    std::string met;
    try {
      while (const int* element = co_await seen.next()) {
        met += std::this_thread::get_id() == here ? std::to_string(*element) : "?";
      }
      met += "end";
    } catch (const std::runtime_error& error) {
      met += std::this_thread::get_id() == here ? error.what() : "!";
    }
    co_return met;
  };
  CHECK(sync_wait(check()) == "012no more");
}

TEST_CASE("schedule_on, resume_on: an async_generator keeps a scheduler that is a temporary") {
  coracle::static_thread_pool pool{1}, other{1};
  constexpr auto low = coracle::static_thread_pool::priority::low;
  const auto check = [&]() -> task<int> {
    co_await pool.schedule();
    const std::thread::id here = std::this_thread::get_id();
    auto seen = coracle::resume_on(coracle::schedule_on(places(3), other.with_priority(low)),
                                   coracle::current_scheduler());
    int count = 0;
    while (const auto* place = co_await seen.next()) {
      count += *place != here && std::this_thread::get_id() == here;
    }
    auto piped = places(3) | coracle::schedule_on(other.with_priority(low));
    while (const auto* place = co_await piped.next()) count += *place == std::this_thread::get_id();
    co_return count;
  };
  CHECK(sync_wait(check()) == 6);
}

TEST_CASE(
    "via: each element of an async_generator is computed on the scheduler, and met where it is awaited") {
  coracle::static_thread_pool pool{1}, moved_to{1}, there{1};
  const auto thread_of = [](coracle::static_thread_pool& which) -> task<std::thread::id> {
    co_await which.schedule();
    co_return std::this_thread::get_id();
  };
  const auto check = [&]() -> task<int> {
    const std::thread::id computed_on = co_await thread_of(there);
    int count = 0;
    auto seen = places(4) | coracle::via(there);
    for (bool ended = false; !ended;) {
      co_await (count == 2 ? moved_to : pool).schedule();
      const std::thread::id here = std::this_thread::get_id();
      const auto* place = co_await seen.next();
      CHECK(std::this_thread::get_id() == here);
      ended = !place;
      count += place && *place == computed_on;
    }
    co_return count;
  };
  CHECK(sync_wait(check()) == 4);
}

TEST_CASE("via: an exception of an async_generator, and a stop request, are met where it is awaited") {
  coracle::static_thread_pool pool{1}, other{1};
  const auto check = [&](auto source, coracle::stop_token stop) -> task<std::string> {
    co_await pool.schedule();
    const std::thread::id here = std::this_thread::get_id();
    auto seen = coracle::via(std::move(source), other);
    const auto consume = [&]() -> task<std::string> {
      std::string met;
      while (const int* element = co_await seen.next()) met += std::to_string(*element);
      co_return met;
    };
    const auto end = co_await coracle::as_outcome(coracle::with_stop(consume(), stop));
    CHECK(std::this_thread::get_id() == here);
    co_return end.is_cancelled() ? "cancelled" : end.has_error() ? "error" : "end";
  };
  coracle::stop_source source;
  CHECK(sync_wait(check(throws_after(other, 3), source.get_token())) == "error");
  source.request_stop();
  CHECK(sync_wait(check(throws_after(other, 3), source.get_token())) == "cancelled");
}
}  // namespace
