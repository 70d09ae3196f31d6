// tests/unit/task_unfolded_test.cpp -- tasks in a program that disables folding:
// CORACLE_ENABLE_BODY_FOLDING=0.
// SPDX-License-Identifier: MIT

// In this file alone. The other files of this program fold, and each uses its own functions.
#define CORACLE_ENABLE_BODY_FOLDING 0
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>

namespace {
using coracle::task;

/// Small, so that the compiler would otherwise fold a body with such a local.
class counted {
 public:
  explicit counted(int& alive) noexcept : alive_(alive) { ++alive_; }
  counted(const counted& other) noexcept : alive_(other.alive_) { ++alive_; }
  counted& operator=(const counted&) = delete;
  ~counted() { --alive_; }

 private:
  int& alive_;
};
/// Returns how many objects exist at its end.
task<int> hold(const int& alive, counted) { co_return alive; }

int fewer_than(int before, const int& alive) { return before - alive; }

TEST_CASE("task without folding: parameters live until the end of the full expression, in every build") {
  CHECK(CORACLE_FOLDS_BODIES() == 0);
  int alive = 0;
  const int destroyed_early = coracle::sync_wait([](int& count) -> task<int> {
    int early = 0;
    for (int i = 0; i != 50; ++i) early += fewer_than(co_await hold(count, counted(count)), count);
    co_return early;
  }(alive));
  CHECK(destroyed_early == 0);
  CHECK(alive == 0);
}
}  // namespace
