// tests/unit/when_any_ready_test.cpp -- races and selects of operations that need not wait.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/allocations.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../support/detached.hpp"

namespace {
using coracle::channel;
using coracle::operation_cancelled;
using coracle::sync_wait;
using coracle::task;
using coracle::when_any;
using coracle_test::detached;
using coracle_test::run_detached;

TEST_CASE("when_any: of permits and locks that are free the first is taken, and no other") {
  coracle::async_semaphore none{0}, permits{1};
  coracle::async_mutex held, free;
  REQUIRE(held.try_lock());
  const auto work = [&]() -> task<> {
    const auto first =
        co_await when_any(none.acquire(), held.lock_async(), permits.scoped_acquire(), free.lock_async());
    CHECK(first.index() == 2);
    CHECK_FALSE(permits.try_acquire());
    CHECK(free.try_lock());
    free.unlock();
    CHECK((co_await when_any(none.acquire(), free.scoped_lock_async(), permits.acquire())).index() == 1);
    CHECK(free.try_lock());
  };
  sync_wait(work());
  CHECK(permits.try_acquire());
  held.unlock();
  free.unlock();
}

/// Has a member with the name of that by which an operation is carried out without an await.
struct of_the_same_name {
  bool try_at_once() noexcept {
    FAIL("called");
    return true;
  }
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return 7; }
};

TEST_CASE("when_any: calls no other members of an awaiter") {
  coracle::async_semaphore permits{1};
  const auto first = sync_wait(when_any(of_the_same_name(), permits.acquire()));
  REQUIRE(first.index() == 0);
  CHECK(std::get<0>(first) == 7);
}

TEST_CASE("when_any: a permit or a lock goes to who waits for it, not to a race that comes then") {
  coracle::async_semaphore permits{0};
  coracle::async_mutex mutex;
  REQUIRE(mutex.try_lock());
  std::vector<std::string> log;
  const auto wait = [&]() -> detached {
    co_await permits.acquire();
    co_await mutex.lock_async();
    log.push_back("waiter");
  };
  const auto race = [&]() -> detached {
    const auto first = co_await when_any(permits.acquire(), mutex.lock_async());
    log.push_back("race " + std::to_string(first.index()));
  };
  wait();
  permits.release();
  race();
  CHECK(log.empty());
  mutex.unlock();
  CHECK(log == std::vector<std::string>{"waiter"});
  permits.release();
  CHECK(log == std::vector<std::string>{"waiter", "race 0"});
  mutex.unlock();
}

TEST_CASE("when_any: stopped before it takes no permit and no lock") {
  coracle::stop_source source;
  source.request_stop();
  coracle::async_semaphore permits{1};
  coracle::async_mutex mutex;
  const auto race = [&]() -> task<> { co_await when_any(permits.acquire(), mutex.lock_async()); };
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(race(), source.get_token())), operation_cancelled);
  CHECK(permits.try_acquire());
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("select: stopped before it takes no element that is there") {
  channel<int> one{1}, two{1};
  REQUIRE(one.try_send(1));
  REQUIRE(two.try_send(2));
  coracle::stop_source source;
  source.request_stop();
  const auto work = [&]() -> task<> { co_await coracle::select(one.recv(), two.recv()); };
  CHECK_THROWS_AS(coracle::sync_wait(coracle::with_stop(work(), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(one.try_recv() == 1);
  CHECK(two.try_recv() == 2);
}

TEST_CASE("select: an element that is there makes room for the sender that waits, and allocates nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  channel<int> empty{1}, full{1};
  REQUIRE(full.try_send(1));
  bool sent = false;
  run_detached([](channel<int>& to, bool& done) -> task<> {
    co_await to.send(2);
    done = true;
  }(full, sent));
  CHECK_FALSE(sent);
  std::size_t made = 9;
  std::optional<int> got;
  const auto work = [&]() -> task<> {
    coracle::trim_frame_memory();
    const auto before = coracle::testing::allocations();
    const auto chosen = co_await coracle::select(empty.recv(), full.recv());
    made = coracle::testing::allocations() - before;
    got = std::get<1>(chosen);
  };
  coracle::sync_wait(work());
  CHECK(got == 1);
  CHECK(sent);
  CHECK(made == 0);
  CHECK(full.try_recv() == 2);
}
}  // namespace
