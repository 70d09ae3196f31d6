// tests/compat/cppcoro_awaiters_test.cpp -- what user code does by hand with cppcoro's awaiters, and their
// names.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/stop.hpp>
#include <coracle/core/with_environment.hpp>
#include <coroutine>
#include <cppcoro/async_auto_reset_event.hpp>
#include <cppcoro/async_latch.hpp>
#include <cppcoro/async_manual_reset_event.hpp>
#include <cppcoro/inline_scheduler.hpp>
#include <cppcoro/io_service.hpp>
#include <cppcoro/multi_producer_sequencer.hpp>
#include <cppcoro/operation_cancelled.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/single_consumer_async_auto_reset_event.hpp>
#include <cppcoro/single_consumer_event.hpp>
#include <cppcoro/single_producer_sequencer.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <type_traits>
#include <utility>

namespace {
using cppcoro::sync_wait;
using cppcoro::task;
using std::is_same_v;

template <class Operation>
using suspended_t = decltype(std::declval<Operation&>().await_suspend(std::coroutine_handle<>{}));

static_assert(is_same_v<suspended_t<cppcoro::static_thread_pool::schedule_operation>, void>);
static_assert(is_same_v<suspended_t<cppcoro::io_service::schedule_operation>, void>);
static_assert(is_same_v<suspended_t<cppcoro::io_service::timed_schedule_operation>, void>);
static_assert(is_same_v<suspended_t<cppcoro::inline_scheduler::schedule_operation>, void>);
static_assert(is_same_v<decltype(std::declval<cppcoro::static_thread_pool&>().schedule()),
                        cppcoro::static_thread_pool::schedule_operation>);
static_assert(is_same_v<decltype(std::declval<cppcoro::io_service&>().schedule()),
                        cppcoro::io_service::schedule_operation>);
static_assert(is_same_v<decltype(cppcoro::inline_scheduler{}.schedule()),
                        cppcoro::inline_scheduler::schedule_operation>);

using number = std::size_t;
using traits = cppcoro::sequence_traits<number>;
using pool = cppcoro::static_thread_pool;
using barrier = cppcoro::sequence_barrier<number>;
using one_producer = cppcoro::single_producer_sequencer<number>;
using producers = cppcoro::multi_producer_sequencer<number>;
// A user who keeps an operation names its type.
static_assert(is_same_v<cppcoro::sequence_barrier_wait_operation<number, traits, pool>,
                        decltype(std::declval<const barrier&>().wait_until_published(
                            number{}, std::declval<pool&>()))>);
static_assert(is_same_v<cppcoro::single_producer_sequencer_claim_one_operation<number, traits, pool>,
                        decltype(std::declval<one_producer&>().claim_one(std::declval<pool&>()))>);
static_assert(is_same_v<cppcoro::single_producer_sequencer_claim_operation<number, traits, pool>,
                        decltype(std::declval<one_producer&>().claim_up_to(1, std::declval<pool&>()))>);
static_assert(is_same_v<cppcoro::multi_producer_sequencer_claim_one_operation<number, traits, pool>,
                        decltype(std::declval<producers&>().claim_one(std::declval<pool&>()))>);
static_assert(is_same_v<cppcoro::multi_producer_sequencer_claim_operation<number, traits, pool>,
                        decltype(std::declval<producers&>().claim_up_to(1, std::declval<pool&>()))>);
static_assert(is_same_v<cppcoro::multi_producer_sequencer_wait_operation<number, traits, pool>,
                        decltype(std::declval<const producers&>().wait_until_published(
                            number{}, number{}, std::declval<pool&>()))>);

/// An awaiter around another whose await_suspend() is called as one that returns nothing.
template <class Operation>
class wrapped {
 public:
  explicit wrapped(Operation inner) : inner_(std::move(inner)) {}
  bool await_ready() { return inner_.await_ready(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> suspended) {
    static_cast<void>(inner_.await_suspend(suspended));
  }
  decltype(auto) await_resume() { return inner_.await_resume(); }

 private:
  Operation inner_;
};

/// True: it was cancelled.
template <class Operation>
task<bool> await_wrapped(Operation operation) {
  bool cancelled = false;
  try {
    co_await wrapped<Operation>(std::move(operation));
  } catch (const cppcoro::operation_cancelled&) {
    cancelled = true;
  }
  co_return cancelled;
}

TEST_CASE("cppcoro: an awaiter of schedule() inside another's goes on, also if stop was requested before") {
  cppcoro::static_thread_pool threads{1};
  cppcoro::io_service io;
  coracle::stop_source source;
  source.request_stop();
  const auto stopped = [&](task<bool> work) {
    return sync_wait(coracle::with_stop(std::move(work), source.get_token()));
  };
  CHECK_FALSE(sync_wait(await_wrapped(threads.schedule())));
  CHECK_FALSE(sync_wait(await_wrapped(cppcoro::inline_scheduler{}.schedule())));
  CHECK(stopped(await_wrapped(threads.schedule())));
  CHECK(stopped(await_wrapped(io.schedule())));
  CHECK(stopped(await_wrapped(io.schedule_after(std::chrono::hours{1}))));
}

template <class Event>
task<> wait_for(const Event& event) {
  co_await event;
}

TEST_CASE("cppcoro: an event that is const can be awaited") {
  cppcoro::async_manual_reset_event gate;
  cppcoro::async_auto_reset_event turnstile;
  cppcoro::single_consumer_async_auto_reset_event own_turnstile;
  cppcoro::single_consumer_event own_gate;
  cppcoro::async_latch latch{1};
  gate.set();
  turnstile.set();
  own_turnstile.set();
  own_gate.set();
  latch.count_down();
  sync_wait(wait_for(gate));
  sync_wait(wait_for(turnstile));
  sync_wait(wait_for(own_turnstile));
  sync_wait(wait_for(own_gate));
  sync_wait(wait_for(latch));
  CHECK(gate.is_set());
}
}  // namespace
