// tests/unit/inline_scheduler_test.cpp -- the scheduler whose schedule() does not suspend.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/awaitable.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <thread>

#include "../support/detached.hpp"

namespace {
using coracle::inline_scheduler;
using coracle_test::detached;

static_assert(coracle::scheduler<inline_scheduler> && coracle::scheduler<const inline_scheduler>);
static_assert(noexcept(inline_scheduler{}.schedule()));

TEST_CASE("inline_scheduler: continues at once on the calling thread") {
  std::thread::id continued_on;
  const auto work = [&]() -> detached {
    co_await inline_scheduler{}.schedule();
    continued_on = std::this_thread::get_id();
  };
  std::thread::id caller, seen;
  std::thread([&] {
    caller = std::this_thread::get_id();
    work();
    seen = continued_on;
  }).join();
  CHECK(seen == caller);
}

TEST_CASE("inline_scheduler: stays on the executor of the caller") {
  coracle::run_loop loop;
  const coracle::executor* continued_on = nullptr;
  const auto work = [&]() -> detached {
    co_await loop.schedule();
    co_await inline_scheduler{}.schedule();
    continued_on = coracle::current_executor();
  };
  work();
  CHECK(loop.run_one());
  CHECK(continued_on == &loop);
  CHECK_FALSE(loop.run_one());
}

TEST_CASE("inline_scheduler: all are equal") {
  CHECK(inline_scheduler{} == inline_scheduler{});
  CHECK_FALSE(inline_scheduler{} != inline_scheduler{});
}
}  // namespace
