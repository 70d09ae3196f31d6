// bench/instructions/main.cpp -- runs each core operation n times, then 2n times, for callgrind to count.
// SPDX-License-Identifier: MIT
#include <valgrind/callgrind.h>

#include <coracle/channels/channel.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/generators/recursive_generator.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/detail/timer_wheel.hpp>
#include <vector>

namespace {
using coracle::task;

constexpr long operations = 4000;  // a multiple of every batch below
constexpr long batch = 100;

/// `work(n)` returns an awaitable that runs one operation n times. tools/instructions.py subtracts the two
/// dumps called `name`, and divides the difference by `operations`.
template <class Work>
task<> count(const char* name, Work work) {
  co_await work(operations);  // fills the free lists of frames
  for (long n = operations; n <= 2 * operations; n += operations) {
    CALLGRIND_ZERO_STATS;
    co_await work(n);
    CALLGRIND_DUMP_STATS_AT(name);
  }
}

void need(long value) { asm volatile("" : : "r"(value)); }

/// A hundred instructions and those of the loop: tests the counting itself.
task<> hundred_instructions(long n) {
  for (long i = 0; i != n; ++i) asm volatile(".rept 100\n\tnop\n\t.endr");
  co_return;
}

// ---- tasks and generators ------------------------------------------------------------------------------

[[gnu::noinline]] task<long> leaf(long i) { co_return i; }
[[gnu::noinline]] task<> void_leaf() { co_return; }
[[gnu::noinline]] task<long> chain(long depth) {
  if (depth == 0) co_return 0;
  const long below = co_await chain(depth - 1);
  co_return below + 1;
}
task<> await_opaque(long n) {
  for (long i = 0; i != n; ++i) need(co_await leaf(i));
}
task<long> visible_leaf(long i) { co_return i; }
task<> await_visible(long n) {
  for (long i = 0; i != n; ++i) need(co_await visible_leaf(i));
}
task<> await_void(long n) {
  for (long i = 0; i != n; ++i) co_await void_leaf();
}
task<> chain_frame(long n) {
  for (long i = 0; i != n; i += batch) need(co_await chain(batch - 1));
}
task<> sync_wait_round_trip(long n) {
  for (long i = 0; i != n; ++i) need(coracle::sync_wait(leaf(i)));
  co_return;
}

[[gnu::noinline]] coracle::generator<long> numbers(long n) {
  for (long i = 0; i != n; ++i) co_yield i;
}
task<> generator_element(long n) {
  for (const long each : numbers(n)) need(each);
  co_return;
}
/// A list; each generator yields the elements from its position on.
[[gnu::noinline]] coracle::recursive_generator<long> count_down(long n) {
  co_yield n;
  if (n != 1) co_yield count_down(n - 1);
}
task<> recursive_generator_element(long n) {
  for (long i = 0; i != n; i += batch) {
    for (const long each : count_down(batch)) need(each);
  }
  co_return;
}

[[gnu::noinline]] coracle::async_generator<long> async_numbers(long n) {
  for (long i = 0; i != n; ++i) co_yield i;
}
task<> async_generator_element(long n) {
  auto elements = async_numbers(n);
  while (const long* const each = co_await elements.next()) need(*each);
}

// ---- children ------------------------------------------------------------------------------------------

task<> when_all_child(long n) {
  for (long i = 0; i != n; i += batch) {
    std::vector<task<long>> children;
    children.reserve(batch);
    for (long k = 0; k != batch; ++k) children.push_back(leaf(k));
    const std::vector<long> results = co_await coracle::when_all(std::move(children));
    need(results.back());
  }
}
task<> when_all_of_two(long n) {
  for (long i = 0; i != n; ++i) {
    const auto both = co_await coracle::when_all(leaf(i), leaf(i));
    need(std::get<0>(both) + std::get<1>(both));
  }
}
/// The child wins, and the pending wait is withdrawn.
task<> when_any_of_two(long n) {
  coracle::async_manual_reset_event never;
  for (long i = 0; i != n; ++i) {
    const auto first = co_await coracle::when_any(never, leaf(i));
    need(std::get<1>(first));
  }
}
/// The first branch would have to wait, so the second takes effect.
task<> select_of_two(long n) {
  coracle::channel<long> empty{1}, filled{1};
  for (long i = 0; i != n; ++i) {
    co_await filled.send(i);
    const auto chosen = co_await coracle::select(empty.recv(), filled.recv());
    need(*std::get<1>(chosen));
  }
}
task<> spawn_and_join(long n) {
  coracle::async_scope scope;
  for (long i = 0; i != n; ++i) scope.spawn(void_leaf());
  co_await scope.join();
}
task<> fork_join_of_two(long n) {
  for (long i = 0; i != n; ++i) {
    const auto both = co_await coracle::fork_join(leaf(i), leaf(i));
    need(std::get<0>(both) + std::get<1>(both));
  }
}

// ---- synchronisation -----------------------------------------------------------------------------------

task<> mutex(long n) {
  coracle::async_mutex mutex;
  for (long i = 0; i != n; ++i) {
    const auto lock = co_await mutex.scoped_lock_async();
    need(i);
  }
}
task<> event_set_await_reset(long n) {
  coracle::async_manual_reset_event event;
  for (long i = 0; i != n; ++i) {
    event.set();
    co_await event;
    event.reset();
  }
}
task<> await_and_reset(coracle::async_manual_reset_event& event, long n) {
  for (long i = 0; i != n; ++i) {
    co_await event;
    event.reset();
  }
}
task<> set_repeatedly(coracle::async_manual_reset_event& event, long n) {
  for (long i = 0; i != n; ++i) event.set();
  co_return;
}
task<> event_suspend_resume(long n) {
  coracle::async_manual_reset_event event;
  co_await coracle::when_all(await_and_reset(event, n), set_repeatedly(event, n));
}
task<> channel_element(long n) {
  coracle::channel<long> elements{batch};
  for (long i = 0; i != n; i += batch) {
    for (long k = 0; k != batch; ++k) co_await elements.send(k);
    for (long k = 0; k != batch; ++k) need(*co_await elements.recv());
  }
}
task<> send_all(coracle::channel<long>& to, long n) {
  for (long i = 0; i != n; ++i) co_await to.send(i);
}
task<> receive_all(coracle::channel<long>& from, long n) {
  for (long i = 0; i != n; ++i) need(*co_await from.recv());
}
task<> channel_rendezvous(long n) {
  coracle::channel<long> elements{0};
  co_await coracle::when_all(send_all(elements, n), receive_all(elements, n));
}
task<> stop_register_deregister(long n) {
  coracle::stop_source source;
  const auto nothing = []() noexcept {};
  for (long i = 0; i != n; ++i) const coracle::stop_callback callback{source.get_token(), nothing};
  co_return;
}

// ---- schedulers ----------------------------------------------------------------------------------------

task<> timer_insert_remove(long n) {
  std::vector<coracle::detail::timer_node> nodes(batch);
  coracle::detail::timer_wheel wheel{1};
  unsigned long deadline = 1;
  for (long i = 0; i != n; i += batch) {
    for (auto& each : nodes) {
      deadline = deadline * 6364136223846793005UL + 1442695040888963407UL;
      wheel.insert(each, deadline >> 24);
    }
    for (auto& each : nodes) wheel.remove(each);
  }
  co_return;
}

task<> count_outside_a_pool() {
  co_await count("hundred_instructions", hundred_instructions);
  co_await count("await_opaque", await_opaque);
  co_await count("await_visible", await_visible);
  co_await count("await_void", await_void);
  co_await count("chain_frame", chain_frame);
  co_await count("sync_wait_round_trip", sync_wait_round_trip);
  co_await count("generator_element", generator_element);
  co_await count("recursive_generator_element", recursive_generator_element);
  co_await count("async_generator_element", async_generator_element);
  co_await count("when_all_child", when_all_child);
  co_await count("when_all_of_two", when_all_of_two);
  co_await count("when_any_of_two", when_any_of_two);
  co_await count("select_of_two", select_of_two);
  co_await count("spawn_and_join", spawn_and_join);
  co_await count("mutex_uncontended", mutex);
  co_await count("event_set_await_reset", event_set_await_reset);
  co_await count("event_suspend_resume", event_suspend_resume);
  co_await count("channel_element", channel_element);
  co_await count("channel_rendezvous", channel_rendezvous);
  co_await count("stop_register_deregister", stop_register_deregister);
  co_await count("timer_insert_remove", timer_insert_remove);
}

/// One of two coroutines, each of which holds the mutex while the other arrives.
task<> lock_in_turn(coracle::static_thread_pool& pool, coracle::async_mutex& mutex, long n) {
  for (long i = 0; i != n; ++i) {
    const auto lock = co_await mutex.scoped_lock_async();
    co_await pool.schedule();
  }
}

/// Run by the only worker, while the main thread sleeps.
task<> count_on_pool(coracle::static_thread_pool& pool) {
  const auto hop = [&pool](long n) -> task<> {
    for (long i = 0; i != n; ++i) co_await pool.schedule();
  };
  const auto hand_over = [&pool](long n) -> task<> {
    coracle::async_mutex mutex;
    co_await coracle::when_all(lock_in_turn(pool, mutex, n / 2), lock_in_turn(pool, mutex, n / 2));
  };
  co_await pool.schedule();
  // No clock: on a slow machine the budget's time would run out before its awaits, and add hops.
  const coracle::detail::timed_budget by_awaits_only{coracle::detail::this_thread().budget, nullptr};
  co_await count("pool_hop", hop);
  co_await count("mutex_handed_over_and_hop", hand_over);
  co_await count("fork_join_of_two", fork_join_of_two);
  co_await count("when_all_child_on_pool", when_all_child);
}
}  // namespace

int main() {
  coracle::sync_wait(count_outside_a_pool());
  coracle::static_thread_pool pool{1};
  coracle::sync_wait(count_on_pool(pool));
}
