// tests/model/timeout.cpp -- sleeps, deadlines and rate_limiter, whose timers a thread of the model fires.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_any.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/detail/timer_queue.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using namespace coracle_test;
using time_point = coracle::timer_service::time_point;
using namespace std::chrono_literals;

/// A clock that stays at 0 until come() sets the time, on any thread.
class played_clock final : public coracle::timer_service {
 public:
  time_point now() noexcept override {
    return time_point{std::chrono::seconds{seconds_.load(std::memory_order_relaxed)}};
  }
  bool add(coracle::detail::timer& each, time_point deadline) noexcept override {
    const coracle::detail::small_mutex_lock lock{mutex_};
    return timers_.add(each, deadline);
  }
  bool remove(coracle::detail::timer& each) noexcept override {
    const coracle::detail::small_mutex_lock lock{mutex_};
    return timers_.remove(each);
  }
  void come(int seconds) noexcept {
    seconds_.store(seconds, std::memory_order_relaxed);
    coracle::detail::timer_batch due;
    mutex_.lock();
    const bool some = due.take(timers_, now());
    mutex_.unlock();
    if (some) due.fire();
  }

 private:
  coracle::detail::small_mutex mutex_;
  coracle::detail::timer_queue timers_{time_point{}};
  coracle::detail::atomic<int> seconds_{0};
};
/// The body runs it.
class place final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override { queue_.post(item); }
  coracle::timer_service* timers() noexcept override { return &clock; }
  template <class Start>
  void begin(Start start) {
    const coracle::detail::executor_scope here{this};
    start();
  }
  void run_until(const plain_int& ended) {
    while (ended == 0) {
      if (run_posted() == 0) coracle::testing::model_yield();
    }
  }
  /// Runs the entries that are queued now.
  unsigned run_posted() { return queue_.run_posted(*this); }

  played_clock clock;

 private:
  model_executor queue_;
};

template <class Awaitable>
detached note(Awaitable operation, coracle::stop_token token, wait_end& end, plain_int& ended) {
  try {
    co_await coracle::with_stop(std::move(operation), std::move(token));
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
  ++ended;
}

void time_against_sleep() {
  place at;
  wait_end end = wait_end::waits;
  plain_int ended = 0;
  model_thread time{[&] { at.clock.come(9); }};
  at.begin([&] { note(coracle::sleep_until(time_point{5s}), {}, end, ended); });
  time.join();
  at.clock.come(10);  // where it had come before the sleep began
  at.run_until(ended);
  model_expect(end == wait_end::carried_out && ended == 1, "it ends, once");
}
void stop_against_time() {
  place at;
  coracle::stop_source source;
  wait_end end = wait_end::waits;
  plain_int ended = 0;
  at.begin([&] { note(coracle::sleep_until(time_point{5s}), source.get_token(), end, ended); });
  model_thread time{[&] { at.clock.come(9); }};
  source.request_stop();
  at.run_until(ended);
  time.join();
  model_expect(end != wait_end::waits && ended == 1, "it ends, once");
}
void stop_against_sleep() {
  place at;
  coracle::stop_source source;
  wait_end end = wait_end::waits;
  plain_int ended = 0;
  model_thread stopper{[&] { source.request_stop(); }};
  at.begin([&] { note(coracle::sleep_until(time_point{5s}), source.get_token(), end, ended); });
  at.run_until(ended);
  stopper.join();
  model_expect(end == wait_end::cancelled, "it ends");
}

/// Returns the result of a wait for `event` with a timeout; 't' means timed_out.
detached limited(coracle::async_manual_reset_event& event, coracle::stop_token token, char& end,
                 plain_int& ended) {
  try {
    co_await coracle::with_stop(coracle::timeout(event, 5s), std::move(token));
    end = 'd';
  } catch (const coracle::timed_out&) {
    end = 't';
  } catch (const coracle::operation_cancelled&) {
    end = 'c';
  }
  ++ended;
}
/// The timer fires while the limited work ends: one waits for the other, and the frame is destroyed after
/// both.
void end_against_deadline() {
  place at;
  coracle::async_manual_reset_event event;
  char end = ' ';
  plain_int ended = 0;
  at.begin([&] { limited(event, {}, end, ended); });
  model_thread time{[&] { at.clock.come(9); }};
  event.set();
  at.run_until(ended);
  time.join();
  model_expect(end == 'd' || end == 't', "done, or timed out");
}
void deadline_against_start() {
  place at;
  coracle::async_manual_reset_event event;
  char end = ' ';
  plain_int ended = 0;
  model_thread time{[&] { at.clock.come(9); }};
  at.begin([&] { limited(event, {}, end, ended); });
  time.join();
  at.clock.come(99);
  at.run_until(ended);
  model_expect(end == 't', "timed out");
}
/// The first one determines the reason.
void stop_against_deadline() {
  place at;
  coracle::async_manual_reset_event event;
  coracle::stop_source source;
  char end = ' ';
  plain_int ended = 0;
  at.begin([&] { limited(event, source.get_token(), end, ended); });
  model_thread time{[&] { at.clock.come(9); }};
  source.request_stop();
  at.run_until(ended);
  time.join();
  model_expect(end == 'c' || end == 't', "stopped, or timed out");
}
void end_and_stop_against_deadline() {
  place at;
  coracle::async_manual_reset_event event;
  coracle::stop_source source;
  char end = ' ';
  plain_int ended = 0;
  at.begin([&] { limited(event, source.get_token(), end, ended); });
  model_thread time{[&] { at.clock.come(9); }};
  model_thread setter{[&] { event.set(); }};
  source.request_stop();
  at.run_until(ended);
  time.join();
  setter.join();
  model_expect(end != ' ' && ended == 1, "it ends, once");
}

/// One token is available; time adds the next.
void time_against_acquire() {
  place at;
  coracle::rate_limiter limiter{1, 5s, 1};
  wait_end first = wait_end::waits, second = wait_end::waits;
  plain_int ended = 0, also_ended = 0;
  at.begin([&] { note(limiter.acquire(), {}, first, ended); });
  model_expect(first == wait_end::carried_out, "the first is there");
  model_thread time{[&] { at.clock.come(9); }};
  at.begin([&] { note(limiter.acquire(), {}, second, also_ended); });
  time.join();
  at.clock.come(99);
  at.run_until(also_ended);
  model_expect(second == wait_end::carried_out, "the second comes");
}
/// Two threads request the only token: one of them has to wait.
void two_acquire() {
  place at;
  coracle::rate_limiter limiter{1, 5s, 1};
  bool other_took = false;
  model_thread other{[&] { at.begin([&] { other_took = limiter.try_acquire(); }); }};
  bool took = false;
  at.begin([&] { took = limiter.try_acquire(); });
  other.join();
  model_expect(took != other_took, "one token for one of them");
}
/// A waiter is served while another one arrives.
void acquire_against_acquire() {
  place at;
  coracle::rate_limiter limiter{1, 5s, 1};
  wait_end first = wait_end::waits, second = wait_end::waits;
  plain_int ended = 0, also_ended = 0;
  at.begin([&] {
    model_expect(limiter.try_acquire(), "there is one");
    note(limiter.acquire(), {}, first, ended);
  });
  model_thread other{[&] { at.begin([&] { note(limiter.acquire(), {}, second, also_ended); }); }};
  at.clock.come(9);
  at.run_until(ended);
  other.join();
  at.run_posted();
  at.clock.come(99);
  at.run_until(also_ended);
  model_expect(first == wait_end::carried_out && second == wait_end::carried_out, "one after the other");
}
void stop_of_acquire() {
  place at;
  coracle::rate_limiter limiter{1, 5s, 1};
  coracle::stop_source source;
  wait_end end = wait_end::waits;
  plain_int ended = 0;
  at.begin([&] {
    model_expect(limiter.try_acquire(), "the first is there");
    note(limiter.acquire(), source.get_token(), end, ended);
  });
  model_thread time{[&] { at.clock.come(9); }};
  source.request_stop();
  at.run_until(ended);
  time.join();
  at.begin([&] {
    model_expect(limiter.try_acquire() == (end == wait_end::cancelled), "who was stopped has taken nothing");
  });
}
detached acquire_or_hear(coracle::rate_limiter& limiter, coracle::async_manual_reset_event& event,
                         std::size_t& which, plain_int& ended) {
  const auto chosen = co_await coracle::when_any(limiter.acquire(), event);
  which = chosen.index();
  ++ended;
}
/// Time adds the token while the event is set.
void event_against_acquire() {
  place at;
  coracle::rate_limiter limiter{1, 5s, 1};
  coracle::async_manual_reset_event event;
  std::size_t which = 2;
  plain_int ended = 0;
  at.begin([&] {
    model_expect(limiter.try_acquire(), "the first is there");
    acquire_or_hear(limiter, event, which, ended);
  });
  model_thread time{[&] { at.clock.come(9); }};
  event.set();
  at.run_until(ended);
  time.join();
  at.begin([&] { model_expect(limiter.try_acquire() == (which == 1), "the loser has taken nothing"); });
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("sleep: time against its start", run.all, time_against_sleep);
  run.check("sleep: stop against time", run.all, stop_against_time);
  run.check("sleep: stop against its start", run.all, stop_against_sleep);
  run.check("timeout: the end against the deadline", run.all, end_against_deadline);
  run.check("timeout: the deadline against its start", run.all, deadline_against_start);
  run.check("timeout: stop against the deadline", 4, stop_against_deadline);
  run.check("timeout: stop and the end against the deadline", 3, end_and_stop_against_deadline);
  run.check("rate_limiter: time against acquire", run.all, time_against_acquire);
  run.check("rate_limiter: two for one token", run.all, two_acquire);
  run.check("rate_limiter: one comes while another is served", 3, acquire_against_acquire);
  run.check("rate_limiter: stop against time", run.all, stop_of_acquire);
  run.check("rate_limiter: an event against the time of acquire", run.all, event_against_acquire);
  return run.finish();
}
