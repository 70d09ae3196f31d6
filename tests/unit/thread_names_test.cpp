// tests/unit/thread_names_test.cpp -- the names by which `top -H` and debuggers show the library's threads.
// SPDX-License-Identifier: MIT
#include "../support/thread_names.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <coracle/compose/via.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/time/sleep.hpp>
#include <string>

namespace {
using coracle_test::name_of_this_thread;

TEST_CASE("names of threads: a static_thread_pool's") {
  coracle::static_thread_pool pool{2};
  const auto look = []() -> coracle::task<std::string> { co_return name_of_this_thread(); };
  CHECK(coracle::sync_wait(coracle::schedule_on(look(), pool)) == "coracle-pool");
}
TEST_CASE("names of threads: those for blocking()") {
  CHECK(coracle::sync_wait(coracle::blocking([] { return name_of_this_thread(); })) == "coracle-block");
}
TEST_CASE("names of threads: the one of the program's timers") {
  coracle::sync_wait(coracle::sleep_for(std::chrono::nanoseconds(1)));  // outside any executor
  CHECK(coracle_test::has_thread_named("coracle-timer"));
}
}  // namespace
