// tests/model/costs.cpp -- the number of atomic accesses on fast paths, without other threads.
// SPDX-License-Identifier: MIT
// A step that only saves other steps changes no outcome, so only these counts show that it is missing.
#include <array>
#include <chrono>
#include <coracle/base/locked_word.hpp>
#include <coracle/base/small_mutex.hpp>
#include <coracle/channels/channel.hpp>
#include <coracle/channels/oneshot.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <optional>
#include <string>

#include "../../src/exec/letterbox.hpp"
#include "../../src/exec/shared_queues.hpp"
#include "../../src/exec/sleepers.hpp"
#include "../../src/exec/work_queue.hpp"
#include "../../src/io/made_when_needed.hpp"
#include "../../src/testing/model/engine.hpp"
#include "../../src/time/timer_thread.hpp"
#include "model_executor.hpp"
#include "model_waits.hpp"
#include "two_workers.hpp"

namespace {
using coracle::task;
using namespace coracle_test;

/// Expects that `f` makes the given number of accesses. A change that makes fewer updates the number.
template <class F>
void expect_accesses(std::uint64_t wanted, const char* what, F f) {
  const auto* const engine = coracle::testing::model::model_engine::current();
  const std::uint64_t before = engine->steps();
  f();
  const std::uint64_t made = engine->steps() - before;
  if (made != wanted)
    model_expect(false, (std::string(what) + ": " + std::to_string(made) + " accesses").c_str());
}

void locks() {
  coracle::async_mutex async;
  expect_accesses(1, "async_mutex::try_lock()", [&] { static_cast<void>(async.try_lock()); });
  expect_accesses(3, "async_mutex::unlock()", [&] { async.unlock(); });
  coracle::detail::made_when_needed<plain_int> object;
  static_cast<void>(object.make());
  expect_accesses(1, "make() of what is made", [&] { static_cast<void>(object.make()); });
  coracle::detail::locked_word<std::uint32_t> word{0};
  expect_accesses(2, "locked_word::lock()", [&] { static_cast<void>(word.lock()); });
  expect_accesses(1, "locked_word::unlock()", [&] { word.unlock(0); });
  coracle::detail::small_mutex mutex;
  expect_accesses(1, "small_mutex::lock()", [&] { mutex.lock(); });
  expect_accesses(1, "small_mutex::unlock()", [&] { mutex.unlock(); });
}
void oneshot() {
  auto [sender, receiver] = coracle::oneshot<int>();
  std::optional mine{std::move(receiver)};
  expect_accesses(1, "send() to nobody who waits", [&] { static_cast<void>(sender.send(7)); });
  expect_accesses(1, "the end of a receiver behind that of the sender", [&] { mine.reset(); });
}
void semaphore() {
  coracle::async_semaphore permits{1};
  expect_accesses(3, "try_acquire() of a permit", [&] { static_cast<void>(permits.try_acquire()); });
  expect_accesses(1, "try_acquire() in vain", [&] { static_cast<void>(permits.try_acquire()); });
  expect_accesses(2, "release()", [&] { permits.release(); });
}
void sequence_barrier() {
  coracle::sequence_barrier<> numbers;
  numbers.publish(3);
  const auto wait = [&]() -> detached { co_await numbers.wait_until_published(3); };
  expect_accesses(1, "the wait for a number that is published", wait);
}
void condition_variable() {
  coracle::async_mutex mutex;
  coracle::async_condition_variable changed;
  int looks = 0;
  const auto wait = [&]() -> detached {
    auto lock = co_await mutex.scoped_lock_async();
    co_await changed.wait(lock, [&] { return ++looks == 2; });
  };
  expect_accesses(7, "a wait of an async_condition_variable", wait);
  expect_accesses(9, "notify_one()", [&] { changed.notify_one(); });
}
/// Each end reads the other's position only when it has used up what it knows.
void ends_of_a_channel() {
  coracle::spsc_channel<int> ch{4};
  static_cast<void>(ch.try_recv());
  const auto send = [&] { static_cast<void>(ch.try_send(1)); };
  const auto receive = [&] { static_cast<void>(ch.try_recv()); };
  for (int i = 0; i != 4; ++i) expect_accesses(6, "try_send() into room that it knows of", send);
  expect_accesses(8, "try_recv() that looks", receive);
  for (int i = 0; i != 3; ++i) expect_accesses(6, "try_recv() of what it knows of", receive);
  expect_accesses(8, "try_send() that looks", send);
  for (int i = 0; i != 3; ++i) expect_accesses(6, "try_send() into room that it knows of", send);
}
void stop_requests() {
  coracle::stop_source source;
  const coracle::stop_token token = source.get_token();
  const auto look = [&] { static_cast<void>(token.stop_requested()); };
  expect_accesses(1, "stop_requested() before", look);
  expect_accesses(10, "request_stop()", [&] { source.request_stop(); });
  expect_accesses(3, "stop_requested() after", look);
}
/// A task that waits for a mutex, below as_outcome().
void stopped_wait() {
  coracle::async_mutex mutex;
  coracle::stop_source source;
  const coracle::stop_token token = source.get_token();
  const auto wait = [&]() -> task<> { co_await mutex.lock_async(); };
  const auto begin = [&]() -> detached {
    auto work = coracle::as_outcome(wait());
    co_await coracle::with_stop(std::move(work), token);
  };
  static_cast<void>(mutex.try_lock());
  begin();
  expect_accesses(26, "request_stop() for a task that waits", [&] { source.request_stop(); });
  mutex.unlock();
}
void subtrees() {
  using coracle::detail::subtree;
  coracle::stop_source source;
  coracle::environment around;
  around.stop = source.get_token();
  std::optional<subtree> first, second, third, fourth, fifth;
  expect_accesses(0, "a subtree", [&] { first.emplace(around); });
  expect_accesses(3, "its state", [&] { first->prepare_for_waits(); });
  expect_accesses(2, "its end", [&] { first.reset(); });
  first.emplace(around);
  expect_accesses(0, "the second", [&] { second.emplace(static_cast<const coracle::environment&>(*first)); });
  expect_accesses(30, "the third", [&] { third.emplace(static_cast<const coracle::environment&>(*second)); });
  expect_accesses(0, "the fourth", [&] { fourth.emplace(static_cast<const coracle::environment&>(*third)); });
  expect_accesses(0, "the fifth", [&] { fifth.emplace(static_cast<const coracle::environment&>(*fourth)); });
  expect_accesses(1, "a look", [&] { static_cast<void>(fifth->stop.stop_requested()); });
  fifth->request_stop(coracle::stop_reason::requested);
  expect_accesses(7, "a look beside a request", [&] { static_cast<void>(fourth->stop.stop_requested()); });
  expect_accesses(1, "a look beside a request, further out",
                  [&] { static_cast<void>(second->stop.stop_requested()); });
  fifth.reset();
  fourth.reset();
  third.reset();
  second.reset();
  first.reset();
}
/// A chain of sources deeper than requests nest; stop of the last source has been requested before.
void long_chain_of_subtrees() {
  using coracle::detail::subtree;
  constexpr std::size_t length = coracle::detail::linked_requests::most + 1;
  coracle::stop_source source;
  coracle::environment around;
  around.stop = source.get_token();
  std::array<std::optional<subtree>, length> chain;
  for (std::size_t i = 0; i != length; ++i) {
    chain[i].emplace(i == 0 ? around : static_cast<const coracle::environment&>(*chain[i - 1]));
    chain[i]->prepare_for_waits();
  }
  {
    const coracle::stop_callback listens{chain.back()->stop, []() noexcept {}};
    chain.back()->request_stop(coracle::stop_reason::requested);
    expect_accesses(297, "request_stop() of a long chain", [&] { source.request_stop(); });
  }
  for (std::size_t i = length; i != 0; --i) chain[i - 1].reset();
}
/// The timer thread sleeps when a new deadline is added.
void timers() {
  using coracle::detail::timer_thread;
  struct alarm : coracle::detail::timer {
    alarm() : timer([](timer& self) noexcept { static_cast<alarm&>(self).rung.set(); }) {}
    coracle::detail::one_shot rung;
  } first, last, later, earlier;
  timer_thread timers{[] {}};
  const auto add = [&](alarm& one, int seconds) {
    return [&timers, &one, seconds] {
      static_cast<void>(timers.add(one, coracle::timer_service::time_point{std::chrono::seconds{seconds}}));
    };
  };
  expect_accesses(8, "the first timer", add(first, 1));
  first.rung.wait();
  expect_accesses(5, "a timer that wakes the thread", add(last, 9));
  expect_accesses(3, "a timer after that", add(later, 10));
  expect_accesses(5, "a timer before it", add(earlier, 8));
  for (alarm* const each : {&last, &later, &earlier}) timers.remove(*each);
  timers.end();
  expect_accesses(4, "end() of none", [&] { timers.end(); });
}
/// A coroutine that was woken from another executor watches the other end before it waits again. After a
/// wait, the ends stay joined for a while.
void waits_in_a_channel() {
  coracle::spsc_channel<int> ch{1};
  model_executor place;
  int received = 0;
  const auto receive = [&]() -> detached {
    co_await place.schedule();
    for (;;) {
      const auto got = co_await ch.recv();
      if (!got) break;
      ++received;
    }
  };
  receive();
  expect_accesses(22, "recv() that waits", [&] { place.run_posted(); });
  expect_accesses(10, "try_send() to a receiver that waits", [&] { static_cast<void>(ch.try_send(1)); });
  expect_accesses(23, "recv() that looks first", [&] { place.run_posted(); });
  expect_accesses(10, "try_send() once more", [&] { static_cast<void>(ch.try_send(2)); });
  expect_accesses(19, "recv() that does not look again", [&] { place.run_posted(); });
  ch.close();
  place.run_posted();
  model_expect(received == 2, "both were received");
}
void waits_for_room() {
  coracle::spsc_channel<int> ch{1};
  model_executor place;
  const auto send = [&]() -> detached {
    co_await place.schedule();
    for (int i = 0; i != 4; ++i) co_await ch.send(i);
  };
  const auto receive = [&] { static_cast<void>(ch.try_recv()); };
  send();
  expect_accesses(30, "send() that waits", [&] { place.run_posted(); });
  expect_accesses(17, "try_recv() from a sender that waits", receive);
  expect_accesses(23, "send() that looks first", [&] { place.run_posted(); });
  expect_accesses(17, "try_recv() once more", receive);
  expect_accesses(19, "send() that does not look again", [&] { place.run_posted(); });
  for (int i = 0; i != 2; ++i) {
    receive();
    place.run_posted();
  }
}
void children() {
  const auto child = []() -> task<> { co_return; };
  const auto parent = [&]() -> detached { co_await coracle::when_all(child(), child()); };
  expect_accesses(10, "when_all() of two that do not wait", parent);
}
/// The fork queue is full, so a child must check for its parent as it ends.
task<int> nest(int depth) {
  if (depth == 0) co_return 1;
  const auto one = []() -> task<int> { co_return 1; };
  const auto [below, mine] = co_await coracle::fork_join(nest(depth - 1), one());
  co_return below + mine;
}
void forks() {
  two_workers pool;
  coracle::async_manual_reset_event event;
  int result = 0;
  const auto parent = [&](int depth) -> detached {
    co_await pool.schedule();
    result = co_await nest(depth);
  };
  parent(2);
  expect_accesses(33, "two forks", [&] { pool.run_some(); });
  parent(5);
  expect_accesses(51, "five forks", [&] { pool.run_some(); });
  model_expect(result == 6, "each gives its result");
  const auto waiting = [&]() -> task<int> {
    co_await event;
    co_return 1;
  };
  const auto joins = [&]() -> detached {
    co_await pool.schedule();
    co_await coracle::fork_join(waiting(), waiting());
  };
  joins();
  pool.run_some();
  event.set();
  expect_accesses(22, "the ends of two children that are awaited", [&] { pool.run_some(); });
}
void fork_queue() {
  struct queue final : coracle::detail::fork_queue {
    using fork_queue::fork_queue;
    void call_for_help() noexcept override {}
  };
  coracle::detail::atomic<std::uint32_t> nobody{0};
  model_executor place;
  queue forks{place, nobody, 1};
  coracle::resumption one, two, three, four;
  expect_accesses(7, "push() into an empty queue", [&] { forks.push(one); });
  expect_accesses(4, "push()", [&] { forks.push(two); });
  expect_accesses(4, "take_back() of the newest", [&] { static_cast<void>(forks.take_back(two)); });
  expect_accesses(4, "push() again", [&] { forks.push(two); });
  expect_accesses(3, "push() of more than there is room for", [&] { forks.push(three); });
  expect_accesses(3, "push() of one more", [&] { forks.push(four); });
  expect_accesses(0, "take_back() of one that is not shared", [&] { static_cast<void>(forks.take_back()); });
  expect_accesses(0, "take_back() of what is not shared", [&] { static_cast<void>(forks.take_back(three)); });
  expect_accesses(7, "take_oldest()", [&] { static_cast<void>(forks.take_oldest()); });
  expect_accesses(0, "take_back_fast() while", [&] { static_cast<void>(forks.take_back_fast(two)); });
  expect_accesses(6, "take_back() of the last", [&] { static_cast<void>(forks.take_back(two)); });
  expect_accesses(2, "steal() from none", [&] { static_cast<void>(forks.steal()); });

  queue emptied{place, nobody, 1};
  for (coracle::resumption* const each : {&one, &two, &three}) emptied.push(*each);
  for (int i = 0; i != 3; ++i) static_cast<void>(emptied.steal());
  expect_accesses(3, "push() behind one that is not shared", [&] { emptied.push(four); });
  while (emptied.take_back()) {
  }
}
void queues_of_a_pool() {
  using priority = coracle::static_thread_pool::priority;
  coracle::resumption one, two;
  unsigned left = 0;
  coracle::detail::work_queue queue;
  expect_accesses(3, "work_queue::steal() from none", [&] { static_cast<void>(queue.steal(left)); });
  expect_accesses(1, "work_queue::take_alone() from none", [&] { static_cast<void>(queue.take_alone()); });
  expect_accesses(6, "push_alone()", [&] { static_cast<void>(queue.push_alone(one)); });
  expect_accesses(3, "push_alone() beside another", [&] { static_cast<void>(queue.push_alone(two)); });
  expect_accesses(4, "push_behind()", [&] { static_cast<void>(queue.push_behind(two)); });
  expect_accesses(2, "push_alone() behind others", [&] { static_cast<void>(queue.push_alone(one)); });
  expect_accesses(3, "take()", [&] { static_cast<void>(queue.take()); });
  expect_accesses(5, "take() from the ring", [&] { static_cast<void>(queue.take()); });
  coracle::detail::shared_queues shared;
  const auto all = [](std::size_t size) { return size; };
  const auto no_more = [](coracle::resumption&) { return false; };
  const auto take = [&] { static_cast<void>(shared.take(priority::normal, all, no_more)); };
  expect_accesses(1, "shared_queues::take() from none", take);
  expect_accesses(4, "shared_queues::push()", [&] { shared.push(one, priority::normal, [] {}); });
  expect_accesses(2, "shared_queues::push() behind another",
                  [&] { shared.push(two, priority::normal, [] {}); });
  expect_accesses(3, "shared_queues::take()", take);
  expect_accesses(5, "shared_queues::take() of the last", take);
  coracle::detail::letterbox letters;
  expect_accesses(1, "letterbox::put() where nobody waits", [&] { static_cast<void>(letters.put(one)); });
  expect_accesses(1, "letterbox::open()", [&] { static_cast<void>(letters.open()); });
  expect_accesses(2, "letterbox::close() in vain", [&] { static_cast<void>(letters.close()); });
}
void sleepers() {
  coracle::detail::sleepers threads;
  expect_accesses(1, "begin_search()", [&] { threads.begin_search(); });
  expect_accesses(1, "end_search() where nobody sleeps", [&] { threads.end_search(1, [] { return true; }); });
  expect_accesses(1, "wake_one() where nobody sleeps", [&] { threads.wake_one(); });
  threads.begin_search();
  const auto before = coracle::detail::real_now();
  model_expect(threads.nap() && coracle::detail::real_now() - before >= std::chrono::microseconds{100},
               "a nap");
  expect_accesses(3, "stop() where nobody sleeps", [&] { threads.stop(); });
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("costs: locks", 0, locks);
  run.check("costs: oneshot", 0, oneshot);
  run.check("costs: semaphore", 0, semaphore);
  run.check("costs: sequence_barrier", 0, sequence_barrier);
  run.check("costs: condition_variable", 0, condition_variable);
  run.check("costs: spsc_channel", 0, ends_of_a_channel);
  run.check("costs: spsc_channel, receiver waits", 0, waits_in_a_channel);
  run.check("costs: spsc_channel, sender waits", 0, waits_for_room);
  run.check("costs: stop requests", 0, stop_requests);
  run.check("costs: a stopped wait", 0, stopped_wait);
  run.check("costs: subtrees", 0, subtrees);
  run.check("costs: a long chain of subtrees", 0, long_chain_of_subtrees);
  run.check("costs: timers", 0, timers);
  run.check("costs: children", 0, children);
  run.check("costs: forks", 0, forks);
  run.check("costs: fork_queue", 0, fork_queue);
  run.check("costs: queues of a pool", 0, queues_of_a_pool);
  run.check("costs: sleepers", 0, sleepers);
  return run.finish();
}
