// tests/unit/async_scope_test.cpp -- work that is started now and waited for later.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/run_on_stack.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::async_scope;
using coracle::current_executor;
using coracle::operation_cancelled;
using coracle::run_loop;
using coracle::scope_policy;
using coracle::stop_reason;
using coracle::sync_wait;
using coracle::task;
using coracle_test::detached;

task<> wait_and_count(async_manual_reset_event& event, int& count) {
  co_await event;
  ++count;
}
task<> fail(const char* why) {
  throw std::runtime_error(why);
  co_return;
}
std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}
task<> note_reason(async_manual_reset_event& event, stop_reason& seen) {
  try {
    co_await event;
  } catch (const operation_cancelled& cancelled) {
    seen = cancelled.reason();
    throw;
  }
}
struct error_counts {
  int made = 0;
  int alive = 0;
};
/// Counts its objects.
struct counted_error {
  static inline error_counts log;
  explicit counted_error(int which) : id(which) { ++log.made, ++log.alive; }
  counted_error(const counted_error& other) : id(other.id) { ++log.alive; }
  counted_error& operator=(const counted_error&) = delete;
  ~counted_error() { --log.alive; }
  int id;
};
int id_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const counted_error& e) {
    return e.id;
  }
}
task<> count_one(int& count) {
  ++count;
  co_return;
}
task<> join(async_scope& scope) { co_await scope.join(); }
detached join_and_tell(async_scope& scope, bool& joined) {
  co_await scope.join();
  joined = true;
}

TEST_CASE("async_scope: join() of a scope without children does not suspend") {
  async_scope scope;
  bool joined = false;
  join_and_tell(scope, joined);
  CHECK(joined);
}

TEST_CASE("async_scope: spawn() runs a child until it suspends, and join() waits for all") {
  async_manual_reset_event event;
  int count = 0;
  bool joined = false;
  async_scope scope;
  for (int i = 0; i != 3; ++i) scope.spawn(wait_and_count(event, count));
  join_and_tell(scope, joined);
  CHECK(count == 0);
  CHECK_FALSE(joined);
  event.set();
  CHECK(count == 3);
  CHECK(joined);
}

TEST_CASE("async_scope: children that have ended already are not waited for") {
  std::vector<int> log;
  async_scope scope;
  const auto note = [&](int name) -> task<> {
    log.push_back(name);
    co_return;
  };
  scope.spawn(note(1));
  scope.spawn(note(2));
  CHECK(log == std::vector{1, 2});
  bool joined = false;
  join_and_tell(scope, joined);
  CHECK(joined);
}

TEST_CASE("async_scope: a child may spawn, also while join() is awaited") {
  async_manual_reset_event first, second;
  int count = 0;
  bool joined = false;
  async_scope scope;
  const auto spawn_later = [&]() -> task<> {
    co_await first;
    scope.spawn(wait_and_count(second, count));
  };
  scope.spawn(spawn_later());
  join_and_tell(scope, joined);
  first.set();
  CHECK_FALSE(joined);
  second.set();
  CHECK(count == 1);
  CHECK(joined);
}

TEST_CASE(
    "async_scope: any awaitable is a child; values, references and what can only be moved are dropped") {
  async_manual_reset_event event{true};
  coracle::async_mutex mutex;
  auto owner = std::make_shared<int>(1);
  async_scope scope;
  const auto give = [](std::shared_ptr<int> kept) -> task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(*kept);
  };
  const auto refer = [&]() -> task<int&> { co_return *owner; };
  scope.spawn(give(owner));
  scope.spawn(refer());
  scope.spawn(event.operator co_await());
  scope.spawn(mutex.scoped_lock_async());
  CHECK(owner.use_count() == 1);
  CHECK(mutex.try_lock());
  mutex.unlock();
  auto named = give(owner);
  scope.spawn(std::move(named));
  sync_wait(join(scope));
}

TEST_CASE("async_scope: an awaitable that can be copied may be spawned by name") {
  struct ready {
    explicit ready(int& count) : count_(&count) {}
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept { ++*count_; }
    int* count_;
  };
  int count = 0;
  const ready twice(count);
  async_scope scope;
  scope.spawn(twice);
  scope.spawn(twice);
  CHECK(count == 2);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: what a child holds is destroyed before join() ends") {
  async_manual_reset_event event;
  async_scope scope;
  auto owner = std::make_shared<int>(1);
  long seen_by_joiner = 0;
  const auto hold = [&](std::shared_ptr<int> kept) -> task<> {
    co_await event;
    CHECK(kept.use_count() == 2);
  };
  const auto wait = [&]() -> detached {
    co_await scope.join();
    seen_by_joiner = owner.use_count();
  };
  scope.spawn(hold(owner));
  wait();
  event.set();
  CHECK(seen_by_joiner == 1);
}

// ---- errors --------------------------------------------------------------------------------------------

TEST_CASE("async_scope: the first error stops the siblings, and join() throws it when all have ended") {
  run_loop loop;
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none;
  std::string caught;
  async_scope scope;
  const auto clean_up_slowly = [&]() -> task<> {
    try {
      co_await never;
    } catch (const operation_cancelled& cancelled) {
      seen = cancelled.reason();
    }
    co_await coracle::shielded(loop.schedule());
  };
  scope.spawn(clean_up_slowly());
  scope.spawn(never.operator co_await());
  scope.spawn(fail("first"));
  CHECK(seen == stop_reason::sibling_failed);
  const auto wait = [&]() -> detached {
    try {
      co_await scope.join();
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  wait();
  CHECK(caught.empty());
  CHECK(loop.run_one());
  CHECK(caught == "first");
}

TEST_CASE("async_scope: with collect_all nobody is stopped, and join() throws all errors, oldest first") {
  async_manual_reset_event event;
  int count = 0;
  std::vector<std::string> errors;
  async_scope scope{scope_policy::collect_all()};
  const auto wait = [&]() -> detached {
    try {
      co_await scope.join();
    } catch (const coracle::error_group& group) {
      for (const auto& each : group.errors()) errors.push_back(message_of(each));
    }
  };
  const auto fail_later = [&]() -> task<> {
    co_await event;
    throw std::runtime_error("last");
  };
  scope.spawn(fail_later());
  scope.spawn(fail("first"));
  scope.spawn(wait_and_count(event, count));
  scope.spawn(fail("second"));
  wait();
  CHECK(errors.empty());
  event.set();
  CHECK(count == 1);
  CHECK(errors == std::vector<std::string>{"first", "second", "last"});
}

TEST_CASE("async_scope: under supervision each error goes to the handler at once, and join() throws none") {
  async_manual_reset_event event;
  int count = 0;
  std::vector<std::string> errors;
  async_scope scope{
      scope_policy::supervise([&](std::exception_ptr error) { errors.push_back(message_of(error)); })};
  scope.spawn(wait_and_count(event, count));
  scope.spawn(fail("first"));
  CHECK(errors == std::vector<std::string>{"first"});
  scope.spawn(fail("second"));
  CHECK(errors.size() == 2);
  event.set();
  sync_wait(join(scope));
  CHECK(count == 1);
}

TEST_CASE("async_scope: of any subset of children that fails, in any order, no error is lost or doubled") {
  for (unsigned subset = 0; subset != 16; ++subset) {
    std::array<int, 4> order{0, 1, 2, 3};
    do {
      counted_error::log = {};
      {
        async_manual_reset_event events[4];
        std::vector<int> thrown;
        async_scope scope{scope_policy::collect_all()};
        const auto child = [&](int i) -> task<> {
          co_await events[i];
          if (subset >> i & 1u) throw counted_error(i);
        };
        for (int i = 0; i != 4; ++i) scope.spawn(child(i));
        const auto wait = [&]() -> detached {
          try {
            co_await scope.join();
          } catch (const counted_error& error) {
            thrown.push_back(error.id);
          } catch (const coracle::error_group& group) {
            for (const auto& each : group.errors()) thrown.push_back(id_of(each));
          }
        };
        wait();
        std::vector<int> failed;
        for (const int i : order) {
          events[i].set();
          if (subset >> i & 1u) failed.push_back(i);
        }
        CHECK(thrown == failed);
        CHECK(counted_error::log.made == static_cast<int>(failed.size()));
      }
      CHECK(counted_error::log.alive == 0);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("async_scope: what an awaitable throws while it is moved in leaves spawn(), and is no child") {
  struct bad_move {
    bad_move() = default;
    bad_move(bad_move&&) { throw std::runtime_error("not moved"); }
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
  };
  async_scope scope;
  CHECK_THROWS_WITH_AS(scope.spawn(bad_move()), "not moved", std::runtime_error);
  sync_wait(join(scope));
}

// ---- stop requests -------------------------------------------------------------------------------------

TEST_CASE("async_scope: request_stop() stops the children; that they were cancelled is no error") {
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none, later = stop_reason::none;
  async_scope scope;
  scope.spawn(note_reason(never, seen));
  scope.spawn(never.operator co_await());
  CHECK(scope.request_stop(stop_reason::shutting_down));
  CHECK_FALSE(scope.request_stop());
  CHECK(seen == stop_reason::shutting_down);
  scope.spawn(note_reason(never, later));
  CHECK(later == stop_reason::shutting_down);
  sync_wait(join(scope));
}

TEST_CASE("async_scope: children inherit the environment that the scope was given") {
  coracle::stop_source source;
  const coracle::task_local<int> number{0};
  coracle::environment around;
  around.stop = source.get_token();
  const int seven = 7;
  const coracle::detail::local_binding binding{&number, &seven, nullptr};
  around.locals = &binding;
  int inherited = 0;
  async_manual_reset_event never;
  stop_reason seen = stop_reason::none;
  async_scope scope{scope_policy::fail_fast(), around};
  const auto look = [&]() -> task<> { inherited = co_await number.value(); };
  scope.spawn(look());
  scope.spawn(note_reason(never, seen));
  CHECK(inherited == 7);
  source.request_stop(stop_reason::timed_out);
  CHECK(seen == stop_reason::timed_out);
  CHECK_THROWS_WITH_AS(sync_wait(join(scope)), "operation cancelled: its deadline has passed",
                       operation_cancelled);
}

TEST_CASE("async_scope: a stop request to the joiner stops the children, and join() waits for them") {
  run_loop loop;
  async_manual_reset_event never;
  coracle::stop_source source;
  stop_reason seen = stop_reason::none, thrown = stop_reason::none;
  const auto clean_up_slowly = [&]() -> task<> {
    try {
      co_await never;
    } catch (const operation_cancelled& cancelled) {
      seen = cancelled.reason();
    }
    co_await coracle::shielded(loop.schedule());
    throw operation_cancelled(seen);
  };
  for (const bool before : {false, true}) {
    source = coracle::stop_source{};
    seen = thrown = stop_reason::none;
    async_scope scope;
    scope.spawn(clean_up_slowly());
    if (before) source.request_stop(stop_reason::shutting_down);
    const auto root = [&]() -> detached {
      try {
        co_await coracle::with_stop(join(scope), source.get_token());
      } catch (const operation_cancelled& cancelled) {
        thrown = cancelled.reason();
      }
    };
    root();
    source.request_stop(stop_reason::shutting_down);
    CHECK(seen == stop_reason::shutting_down);
    CHECK(thrown == stop_reason::none);
    loop.run_pending();
    CHECK(thrown == stop_reason::shutting_down);
  }
}

TEST_CASE(
    "async_scope: a stop request to the joiner has no effect if all children give a value all the same") {
  coracle::stop_source source;
  async_manual_reset_event never;
  bool joined = false;
  async_scope scope;
  const auto give_when_stopped = [&]() -> task<> {
    try {
      co_await never;
    } catch (const operation_cancelled&) {
    }
  };
  scope.spawn(give_when_stopped());
  const auto root = [&]() -> detached {
    co_await coracle::with_stop(join(scope), source.get_token());
    joined = true;
  };
  root();
  CHECK_FALSE(joined);
  source.request_stop();
  CHECK(joined);
}

TEST_CASE(
    "async_scope: a stop request to the joiner before join() cancels it, once the children are joined") {
  coracle::stop_source source;
  int count = 0;
  async_scope scope;
  scope.spawn(count_one(count));
  source.request_stop(stop_reason::timed_out);
  CHECK_THROWS_WITH_AS(sync_wait(coracle::with_stop(join(scope), source.get_token())),
                       "operation cancelled: its deadline has passed", operation_cancelled);
  CHECK(count == 1);
}

TEST_CASE("async_scope: spawn() on a scheduler runs the child there") {
  run_loop loop;
  const coracle::executor* ran_on = nullptr;
  async_scope scope;
  const auto look = [&]() -> task<> {
    ran_on = current_executor();
    co_return;
  };
  scope.spawn(loop, look());
  CHECK(ran_on == nullptr);
  CHECK(loop.run_one());
  CHECK(ran_on == &loop);
  sync_wait(join(scope));
}

// ---- where it resumes ----------------------------------------------------------------------------------

TEST_CASE("async_scope: the joiner resumes on its executor, once, however the last child ended") {
  run_loop home, abroad;
  async_scope scope;
  const coracle::executor* ran_on = nullptr;
  const auto hop = [&]() -> task<> { co_await abroad.schedule(); };
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    co_await scope.join();
    ran_on = current_executor();
  };
  scope.spawn(hop());
  wait();
  CHECK(home.run_one());
  CHECK(abroad.run_one());
  CHECK(ran_on == nullptr);
  CHECK(home.run_one());
  CHECK(ran_on == &home);
}

TEST_CASE("async_scope: where the last child ends on the joiner's executor there is no post in between") {
  run_loop home;
  async_scope scope;
  bool joined = false;
  const auto hop = [&]() -> task<> { co_await home.schedule(); };
  const auto wait = [&]() -> detached {
    co_await home.schedule();
    co_await scope.join();
    joined = true;
  };
  wait();
  scope.spawn(hop());
  CHECK(home.run_one());
  CHECK_FALSE(joined);
  CHECK(home.run_one());
  CHECK(joined);
  CHECK_FALSE(home.run_one());
}

TEST_CASE("async_scope: a joiner outside any executor runs on the thread on which the last child ended") {
  coracle::static_thread_pool pool{1};
  async_scope scope;
  std::thread::id child_on, joiner_on;
  const auto hop = [&]() -> task<> {
    co_await pool.schedule();
    child_on = std::this_thread::get_id();
  };
  const auto wait = [&]() -> task<> {
    scope.spawn(hop());
    co_await scope.join();
    joiner_on = std::this_thread::get_id();
  };
  sync_wait(wait());
  CHECK(child_on != std::this_thread::get_id());
  CHECK((joiner_on == child_on || joiner_on == std::this_thread::get_id()));
}

/// Parks a child until the test resumes it; what then orders the two threads is the scope alone.
struct park {
  explicit park(std::coroutine_handle<>& place) noexcept : place_(place) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const noexcept { place_ = h; }
  void await_resume() const noexcept {}
  std::coroutine_handle<>& place_;
};

TEST_CASE(
    "async_scope: what a child wrote on another thread is seen after join(), whichever of them was last") {
  for (const bool child_is_last : {false, true}) {
    std::coroutine_handle<> parked;
    std::atomic<bool> turn{false};  // relaxed: orders nothing
    int written = 0, seen = 0;
    async_scope scope;
    const auto write = [&]() -> task<> {
      co_await park(parked);
      written = 1;
    };
    const auto wait = [&]() -> detached {
      co_await scope.join();
      seen = written;
    };
    scope.spawn(write());
    std::thread other([&] {
      while (child_is_last && !turn.load(std::memory_order_relaxed)) std::this_thread::yield();
      coracle::resume(parked);
      turn.store(true, std::memory_order_relaxed);
    });
    while (!child_is_last && !turn.load(std::memory_order_relaxed)) std::this_thread::yield();
    wait();
    turn.store(true, std::memory_order_relaxed);
    other.join();
    CHECK(seen == 1);
  }
}

TEST_CASE(
    "async_scope: a child starts on the spawner's executor; a scope that was given nothing passes on "
    "nothing") {
  run_loop loop;
  const coracle::stop_source stop;
  const coracle::task_local<int> number{0};
  async_scope scope;
  const coracle::executor* ran_on = nullptr;
  int inherited = 1;
  const auto look = [&]() -> task<> {
    ran_on = current_executor();
    inherited = co_await number.value();
  };
  const auto spawner = [&]() -> task<> {
    co_await loop.schedule();
    scope.spawn(look());
    co_await scope.join();
  };
  const auto root = [&]() -> detached { co_await coracle::with_value(spawner(), number, 7); };
  root();
  CHECK(loop.run_one());
  CHECK(ran_on == &loop);
  CHECK(inherited == 0);
}

TEST_CASE("async_scope: the joiner may destroy the scope") {
  async_manual_reset_event event;
  int count = 0;
  auto scope = std::make_unique<async_scope>();
  const auto wait = [&]() -> detached {
    co_await scope->join();
    scope.reset();
  };
  scope->spawn(wait_and_count(event, count));
  wait();
  event.set();
  CHECK(scope == nullptr);
}

task<> spawn_next(async_scope& scope, int left, int& started) {
  ++started;
  if (left != 0) scope.spawn(spawn_next(scope, left - 1, started));
  co_return;
}
TEST_CASE(
    "async_scope: a child that spawns a child, 100,000 deep, fits a small stack and starts all at once") {
  int started = 0, started_before_return = 0;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    async_scope scope;
    scope.spawn(spawn_next(scope, 100'000, started));
    started_before_return = started;
    sync_wait(join(scope));
  });
  CHECK(ran);
  CHECK(started_before_return == 100'001);
}

TEST_CASE("async_scope: children nested too deep start on the executor of their spawner all the same") {
  run_loop loop;
  int elsewhere = 0, started = 0;
  async_scope scope;
  const auto nest = [&](const auto& self, int left) -> task<> {
    ++started;
    elsewhere += current_executor() != &loop;
    if (left != 0) scope.spawn(self(self, left - 1));
    co_return;
  };
  const auto root = [&]() -> detached {
    co_await loop.schedule();
    scope.spawn(nest(nest, 200));
    co_await scope.join();
  };
  root();
  CHECK(loop.run_one());
  CHECK(started == 201);
  CHECK(elsewhere == 0);
}

TEST_CASE("async_scope: a million children that wait at the same time, and as many that end at once") {
  constexpr int width = coracle::testing::allocations_are_counted ? 1'000'000 : 100'000;  // slower under TSan
  async_manual_reset_event event;
  int count = 0, quick = 0;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    async_scope scope;
    for (int i = 0; i != width; ++i) {
      scope.spawn(wait_and_count(event, count));
      scope.spawn(count_one(quick));
    }
    CHECK(count == 0);
    event.set();
    sync_wait(join(scope));
  });
  CHECK(ran);
  CHECK(count == width);
  CHECK(quick == width);
}

task<> nest_scopes(int depth, async_manual_reset_event& event) {
  if (depth == 0) {
    co_await event;
  } else {
    async_scope scope;
    scope.spawn(nest_scopes(depth - 1, event));
    co_await scope.join();
  }
}

TEST_CASE(
    "async_scope: 100,000 scopes inside one another fit a small stack: woken, or stopped from the top") {
  async_manual_reset_event event, never;
  bool ended = false, cancelled = false;
  const bool ran = coracle_test::run_on_stack(256 * 1024, [&] {
    const auto root = [&]() -> detached {
      co_await nest_scopes(100'000, event);
      ended = true;
    };
    root();
    event.set();
    coracle::stop_source source;
    const auto stop = [&]() -> detached {
      try {
        co_await coracle::with_stop(nest_scopes(10'000, never), source.get_token());
      } catch (const operation_cancelled&) {
        cancelled = true;
      }
    };
    stop();
    source.request_stop();
  });
  CHECK(ran);
  CHECK(ended);
  CHECK(cancelled);
}

TEST_CASE("async_scope: spawn() allocates one frame for a child, beside the child's own, and join() nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_manual_reset_event event;
  async_scope scope;
  int count = 0;
  bool joined = false;
  coracle::trim_frame_memory();
  const auto first = coracle::testing::allocations();
  auto child = wait_and_count(event, count);
  const auto before = coracle::testing::allocations();
  scope.spawn(std::move(child));
  const auto after = coracle::testing::allocations();
  const auto wait = [&]() -> detached {
    const auto before_join = coracle::testing::allocations();
    co_await scope.join();
    joined = coracle::testing::allocations() == before_join;
  };
  wait();
  event.set();
  CHECK(before - first == 1);
  CHECK(after - before == 1);
  CHECK(joined);
}

TEST_CASE("async_scope: where memory runs out spawn() throws, and the scope stays as it was" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int failed = coracle::testing::fail_each_allocation([] {
    int ended = 0, refused = 0;
    std::optional<async_scope> scope;
    try {
      scope.emplace();
      scope->spawn(count_one(ended));
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    if (!scope) return;
    bool joined = false;
    try {
      join_and_tell(*scope, joined);
    } catch (const std::bad_alloc&) {
      ++refused;
      auto by_hand = scope->join();
      joined = !by_hand.await_suspend(std::coroutine_handle<>(std::noop_coroutine()));
    }
    CHECK(joined);
    CHECK(ended + refused >= 1);
  });
  CHECK(failed >= 3);
}

TEST_CASE("async_scope: where there is no memory to put errors together join() throws the first" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  async_scope scope{scope_policy::collect_all()};
  scope.spawn(fail("first"));
  scope.spawn(fail("second"));
  std::string caught;
  const auto wait = [&]() -> detached {
    auto all = scope.join();
    try {
      const coracle::testing::failing_allocation failing(1);
      co_await all;
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  wait();
  CHECK(caught == "first");
}

TEST_CASE("async_scope: destroyed while children run it names them, in every build") {
  const std::string message = coracle_test::abort_message([] {
    async_manual_reset_event event;
    int count = 0;
    async_scope scope;
    for (int i = 0; i != 9; ++i) scope.spawn(wait_and_count(event, count));
    scope.spawn(count_one(count));
  });
  CHECK(message.find("coracle: an async_scope was destroyed while 9 of its children run: co_await its join() "
                     "on every way out of the scope, also where an exception leaves it, or use with_scope(). "
                     "Spawned at:\n") == 0);
  CHECK(std::count(message.begin(), message.end(), '\n') == 9);
  CHECK(message.find("async_scope_test.cpp:") != std::string::npos);
  CHECK(coracle_test::abort_message([] {
          async_manual_reset_event event;
          int count = 0;
          async_scope scope;
          scope.spawn(wait_and_count(event, count));
          bool joined = false;
          join_and_tell(scope, joined);
        }).find("while 1 of its children run") != std::string::npos);
}

TEST_CASE("async_scope: destroyed with an error in it ends the program, in every build") {
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          scope.spawn(fail("lost"));
        }) == "coracle: an async_scope was destroyed with an exception in it: co_await its join()\n");
}

TEST_CASE("async_scope: what breaks its rules ends the program and says what to do" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] { async_scope scope; }) ==
        "coracle: an async_scope was destroyed without join(): co_await it on every way out of the scope, "
        "also where an exception leaves it, or use with_scope()\n");
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          sync_wait(join(scope));
          sync_wait(join(scope));
        }) == "coracle: join() of an async_scope was awaited twice\n");
  CHECK(coracle_test::abort_message([] {
          async_scope scope;
          int count = 0;
          sync_wait(join(scope));
          scope.spawn(count_one(count));
        }) == "coracle: spawn() into an async_scope that has been joined\n");
}

static_assert(!std::is_copy_constructible_v<async_scope> && !std::is_move_constructible_v<async_scope>);
static_assert(std::is_void_v<coracle::await_result_t<async_scope::join_operation>>);
static_assert(noexcept(std::declval<async_scope&>().join()));
}  // namespace
