// tests/unit/lost_choice_test.cpp -- a branch that starts after another has won takes no effect.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/choice.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <utility>

#include "../support/detached.hpp"
#include "../support/lets_through.hpp"

namespace {
/// A coroutine all of whose awaits are branches of a choice, its first argument; they inherit its second.
struct branch {
  class promise_type : public coracle::part::starts_eagerly,
                       public coracle::part::returns<void, coracle::part::terminates_on_error>,
                       public coracle::part::frees_itself,
                       public coracle::part::awaits_anything {
   public:
    template <class... Others>
    promise_type(coracle::detail::choice& one_of, const coracle::environment& inherited, Others&...) noexcept
        : choice_(&one_of), inherited_(&inherited) {}
    branch get_return_object() const noexcept { return {}; }
    [[nodiscard]] const coracle::environment* get_environment() const noexcept { return inherited_; }
    [[nodiscard]] coracle::detail::choice* get_choice() const noexcept { return choice_; }

   private:
    coracle::detail::choice* choice_;
    const coracle::environment* inherited_;
  };
};
template <class Operation>
branch run_branch(coracle::detail::choice&, const coracle::environment&, Operation operation,
                  bool& cancelled) {
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const coracle::operation_cancelled&) {
    cancelled = true;
  }
}
/// Returns true if `operation`, as a branch of a choice that is lost, is cancelled, at the latest when it is
/// stopped.
template <class Operation>
bool is_cancelled_when_lost(Operation operation) {
  coracle::detail::choice one_of;
  CHECK(one_of.claim());
  coracle::stop_source stop;
  coracle::environment inherited;
  inherited.stop = stop.get_token();
  bool cancelled = false;
  run_branch(one_of, inherited, std::move(operation), cancelled);
  stop.request_stop();
  return cancelled;
}

TEST_CASE("lost choice: a free mutex stays free") {
  coracle::async_mutex mutex;
  CHECK(is_cancelled_when_lost(mutex.lock_async()));
  CHECK(mutex.try_lock());
  mutex.unlock();
}
TEST_CASE("lost choice: a permit stays where it is") {
  coracle::async_semaphore semaphore{1};
  CHECK(is_cancelled_when_lost(semaphore.acquire()));
  CHECK(semaphore.try_acquire());
  CHECK_FALSE(semaphore.try_acquire());
  semaphore.release();
}
TEST_CASE("lost choice: a shared mutex stays free, for a writer and for readers") {
  coracle::async_shared_mutex mutex;
  CHECK(is_cancelled_when_lost(mutex.lock_async()));
  CHECK(is_cancelled_when_lost(mutex.lock_shared_async()));
  CHECK(mutex.try_lock());
  mutex.unlock();
}
TEST_CASE("lost choice: an auto-reset event stays set") {
  coracle::async_auto_reset_event event{true};
  CHECK(is_cancelled_when_lost(event.operator co_await()));
  CHECK(coracle_test::lets_through(event));
}
TEST_CASE("lost choice: who would have been the last at a barrier has not arrived") {
  coracle::async_barrier<> barrier{2};
  bool first = false;
  const auto arrive = [](coracle::async_barrier<>& at, bool& met) -> coracle_test::detached {
    co_await at.arrive_and_wait();
    met = true;
  };
  arrive(barrier, first);
  CHECK(is_cancelled_when_lost(barrier.arrive_and_wait()));
  CHECK_FALSE(first);
  bool second = false;
  arrive(barrier, second);
  CHECK(first);
  CHECK(second);
}
TEST_CASE("lost choice: a notification passes over who sleeps and has lost since, and wakes nobody") {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  auto lock = coracle::sync_wait(mutex.scoped_lock_async());
  coracle::detail::choice one_of;
  coracle::stop_source stop;
  coracle::environment inherited;
  inherited.stop = stop.get_token();
  bool cancelled = false;
  run_branch(one_of, inherited, changed.wait(lock), cancelled);
  CHECK(one_of.claim());
  changed.notify_one();
  changed.notify_all();
  CHECK_FALSE(cancelled);
  stop.request_stop();
  CHECK(cancelled);
  CHECK_FALSE(mutex.try_lock());  // it has the lock again
}
TEST_CASE("lost choice: notify_all() wakes who sleeps before one that has lost since, and nobody else") {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  bool notified = false;
  const auto wait = [&]() -> coracle_test::detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await changed.wait(lock);
    notified = true;
  };
  wait();
  auto lock = coracle::sync_wait(mutex.scoped_lock_async());
  coracle::detail::choice one_of;
  coracle::stop_source stop;
  coracle::environment inherited;
  inherited.stop = stop.get_token();
  bool cancelled = false;
  run_branch(one_of, inherited, changed.wait(lock), cancelled);
  CHECK(one_of.claim());
  changed.notify_all();
  CHECK(notified);
  CHECK(mutex.try_lock());  // the lost one has not taken it
  mutex.unlock();
  stop.request_stop();
  CHECK(cancelled);
}
TEST_CASE("lost choice: a condition that holds already does not end a wait as won") {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  auto lock = coracle::sync_wait(mutex.scoped_lock_async());
  const auto holds = [] { return true; };
  CHECK(is_cancelled_when_lost(changed.wait(lock, holds)));
  CHECK_FALSE(mutex.try_lock());
}
}  // namespace
