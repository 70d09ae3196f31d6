// tests/model/io_loop.cpp -- the event loop over a modelled system: no thread sleeps through an event.
// SPDX-License-Identifier: MIT
#include "../../src/io/io_loop.cpp"  // NOLINT: no library for the checker has them

#include <coracle/base/park.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdlib>
#include <memory>

#include "../../src/io/io_service.cpp"  // NOLINT
#include "../../src/io/made_when_needed.hpp"
#include "../support/inert_io_system.hpp"
#include "model_waits.hpp"

coracle::detail::io_system& coracle::detail::io_system::linux_system() noexcept { std::abort(); }

namespace {
using coracle::io_service;
using coracle::detail::atomic;
using coracle::detail::io_backend;
using coracle::detail::io_event;
using coracle::detail::io_loop;
using coracle_test::detached;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::plain_int;
using order = std::memory_order;
using time_point = std::chrono::steady_clock::time_point;
using namespace std::chrono_literals;

/// One word holds every reason to end a sleep; the thread that takes it out informs the loop. It is created
/// late, as epoll's is. A request has ended when over() says so.
class played_backend final : public coracle_test::inert_io_backend {
 public:
  played_backend(coracle::detail::io_system& system, io_loop& loop) noexcept
      : inert_io_backend(system), loop_(loop) {
    loop.watched(true);
  }

  signals poll(bool wait, completions& found) noexcept override {
    flush();
    poller* const its = wait ? poller_.try_make() : poller_.get();
    if (!its) {
      if (is_fair) coracle::testing::model_yield();
      return {true, true};
    }
    const std::uint32_t left = is_fair && !wait && unfair_looks == 0 ? woken : 0;
    if (!wait && unfair_looks != 0) --unfair_looks;
    std::uint32_t seen = its->word.fetch_and(left, order::acq_rel) & ~left;
    if (is_fair && !wait && seen == 0) coracle::testing::model_yield();
    while (wait && seen == 0) {
      coracle::detail::park(its->word, 0);
      seen = its->word.exchange(0, order::acq_rel);
    }
    if (seen & completed) complete(*event_, found);
    if (seen & completed_second) complete(*second_event_, found);
    return {(seen & woken) != 0, (seen & timer) != 0};
  }
  /// If false, a poll() that does not wait consumes any wake(), as epoll's does. A thread that keeps polling
  /// without sleeping could, in theory, keep a wake() from the sleeper that it is meant for.
  bool is_fair = false;
  /// The number of such polls that consume a wake() even so.
  unsigned unfair_looks = 0;
  /// Submitted requests complete immediately.
  void flush() noexcept override {
    io_event* const submitted = submitted_.exchange(nullptr, order::acq_rel);
    if (submitted) over(*submitted);
  }
  /// Kept until the next poll, as by a ring.
  void submit_later(io_event& event) noexcept {
    submitted_.store(&event, order::release);
    loop_.flush_soon();
  }
  void wake() noexcept override {
    if (poller* const its = poller_.get()) its->tell(woken);
  }
  void set_timer(std::uint64_t) noexcept override {}
  /// The timer of set_timer() expires.
  void ring() noexcept { poller_.make().tell(timer); }
  /// The poll that ends the sleep reports it.
  void over(io_event& event) noexcept {
    event_ = &event;
    poller_.make().tell(completed);
  }
  /// Both at once.
  void over(io_event& event, io_event& second) noexcept {
    event_ = &event;
    second_event_ = &second;
    poller_.make().tell(completed | completed_second);
  }
  /// Completed by another thread.
  void over_elsewhere(io_event& event) noexcept { loop_.finish(event); }
  /// A thread opens a socket.
  void make() noexcept { poller_.make(); }

 private:
  static constexpr std::uint32_t woken = 1, timer = 2, completed = 4, completed_second = 8;
  struct poller {
    poller() noexcept : word(woken | timer) {}
    void tell(std::uint32_t what) noexcept {
      word.fetch_or(what, order::acq_rel);
      coracle::detail::unpark(&word, 1);
    }
    atomic<std::uint32_t> word;
  };

  io_loop& loop_;
  coracle::detail::plain<io_event*> event_ = nullptr, second_event_ = nullptr;
  atomic<io_event*> submitted_{nullptr};
  coracle::detail::made_when_needed<poller> poller_;
};

class played_system final : public coracle_test::inert_io_system {
 public:
  time_point now() noexcept override { return time_point{std::chrono::seconds{time.load(order::relaxed)}}; }
  /// Each look takes a tick: so few events are delivered between two polls. Under the loop's lock, or by its
  /// only thread.
  std::uint64_t ticks() noexcept override { return ++ticks_; }
  std::unique_ptr<io_backend> backend_for(io_loop& loop) override {
    auto made = std::make_unique<played_backend>(*this, loop);
    backend = made.get();
    return made;
  }

  atomic<int> time{0};
  played_backend* backend = nullptr;

 private:
  std::uint64_t ticks_ = 0;
};

struct place {
  played_system system;
  io_service io{system};
};

detached hop(io_service& io, plain_int& done) {
  co_await io.schedule();
  ++done;
}

void post_against_one_event() {
  place at;
  plain_int done = 0;
  model_thread poster{[&] { hop(at.io, done); }};
  model_expect(at.io.process_one_event() == 1 && done == 1, "it has come");
  poster.join();
}
/// One thread is about to sleep for the first time, another creates the poller, a third wakes the first.
void post_against_first_socket() {
  place at;
  plain_int done = 0;
  model_thread opener{[&] { at.system.backend->make(); }};
  model_thread poster{[&] { hop(at.io, done); }};
  model_expect(at.io.process_one_event() == 1 && done == 1, "it has come");
  opener.join();
  poster.join();
}
/// A coroutine posted before the stop is run, at the latest after it.
void posts_and_stop() {
  place at;
  plain_int done = 0;
  model_thread poster{[&] {
    hop(at.io, done);
    at.io.stop();
  }};
  at.io.process_events();
  poster.join();
  at.io.reset();
  at.io.process_pending_events();
  model_expect(done == 1, "none is lost");
}
void two_posters() {
  place at;
  plain_int first = 0, second = 0;
  model_thread one{[&] { hop(at.io, first); }};
  model_thread other{[&] { hop(at.io, second); }};
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(first == 1 && second == 1, "both have come");
  one.join();
  other.join();
}
/// Each sleeper takes one event; a wake-up may reach either of them.
void two_posts_for_two_sleepers() {
  place at;
  plain_int first = 0, second = 0;
  model_thread sleeper{[&] { at.io.process_one_event(); }};
  model_thread poster{[&] {
    hop(at.io, first);
    hop(at.io, second);
  }};
  at.io.process_one_event();
  sleeper.join();
  poster.join();
  model_expect(first == 1 && second == 1, "both have come");
}
void stop_of_two_sleepers() {
  place at;
  model_thread sleeper{[&] { at.io.process_events(); }};
  model_thread stopper{[&] { at.io.stop(); }};
  at.io.process_events();
  sleeper.join();
  stopper.join();
}
void work_ends() {
  place at;
  at.io.notify_work_started();
  at.io.notify_work_started();
  model_thread worker{[&] { at.io.notify_work_finished(); }};
  model_thread other{[&] { at.io.notify_work_finished(); }};
  at.io.process_events();
  worker.join();
  other.join();
}
/// Two threads report the beginning of work while the loop is reused.
void work_begins_against_reset() {
  place at;
  at.io.stop();
  model_thread worker{[&] { at.io.notify_work_started(); }};
  model_thread other{[&] {
    at.io.reset();
    model_expect(!at.io.is_stop_requested(), "it is reset");
  }};
  at.io.notify_work_started();
  worker.join();
  other.join();
  at.io.notify_work_finished();
  model_expect(!at.io.is_stop_requested(), "the other work still runs");
  at.io.notify_work_finished();
  model_expect(at.io.is_stop_requested(), "that was the last");
}

void look_against_reset() {
  place at;
  at.io.stop();
  model_thread other{[&] { at.io.reset(); }};
  static_cast<void>(at.io.is_stop_requested());
  other.join();
  model_expect(!at.io.is_stop_requested(), "it is reset");
}

/// Waits until the case resumes it.
struct handed_over {
  atomic<void*>& to;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept {
    to.store(suspended.address(), order::release);
  }
  void await_resume() const noexcept {}
};
void resume_when_there(const atomic<void*>& kept) {
  void* handle = kept.load(order::acquire);
  for (; !handle; handle = kept.load(order::acquire)) coracle::testing::model_yield();
  std::coroutine_handle<>::from_address(handle).resume();
}
void end_against_run() {
  place at;
  atomic<void*> kept{nullptr};
  model_thread ender{[&] { resume_when_there(kept); }};
  at.io.run(handed_over{kept});
  ender.join();
}
/// One event is for the thread in process_events(), the other for the thread in run(); a wake-up may reach
/// the wrong thread.
void stop_and_end(unsigned unfair_looks) {
  place at;
  at.system.backend->is_fair = true;
  at.system.backend->unfair_looks = unfair_looks;
  atomic<void*> kept{nullptr};
  model_thread sleeper{[&] { at.io.process_events(); }};
  model_thread ender{[&] {
    at.io.stop();
    resume_when_there(kept);
  }};
  at.io.run(handed_over{kept});
  sleeper.join();
  ender.join();
}

/// An operation that the system carries out.
class operation : io_event {
 public:
  operation(place& at, bool in_poll) noexcept : at_(at), in_poll_(in_poll) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    handle = suspended;
    home = &at_.io;
  }
  int await_resume() const noexcept { return result_; }
  void submit_later() {
    result_ = 7;
    progress = state::finished;
    at_.system.backend->submit_later(*this);
  }
  void carry_out_with(operation& second) {
    result_ = second.result_ = 7;
    at_.system.backend->over(*this, second);
  }
  void carry_out() {
    result_ = 7;
    progress = state::finished;
    in_poll_ ? at_.system.backend->over(*this) : at_.system.backend->over_elsewhere(*this);
  }

 private:
  place& at_;
  const bool in_poll_;
  plain_int result_ = 0;
};
template <bool InPoll>
void completion_against_run() {
  place at;
  operation one{at, InPoll};
  plain_int seen = 0;
  [](operation& its, plain_int& result) -> detached { result = co_await its; }(one, seen);
  model_thread kernel{[&] { one.carry_out(); }};
  at.io.process_one_event();
  model_expect(seen == 7, "its result is there");
  kernel.join();
}
/// A submission on another thread reaches the system, although the loop's only thread may be about to sleep.
void submission_against_sleep() {
  place at;
  operation one{at, true};
  plain_int seen = 0;
  [](operation& its, plain_int& result) -> detached { result = co_await its; }(one, seen);
  model_thread submitter{[&] { one.submit_later(); }};
  at.io.process_one_event();
  model_expect(seen == 7, "its result is there");
  submitter.join();
}
/// A thread that leaves the loop may have received the wake-up for the submission.
void submission_and_post_for_two() {
  place at;
  operation one{at, true};
  plain_int seen = 0, done = 0;
  [](operation& its, plain_int& result) -> detached { result = co_await its; }(one, seen);
  model_thread sleeper{[&] { at.io.process_one_event(); }};
  model_thread submitter{[&] {
    hop(at.io, done);
    one.submit_later();
  }};
  at.io.process_one_event();
  sleeper.join();
  submitter.join();
  model_expect(seen == 7 && done == 1, "both have come");
}
/// One thread receives both events: it wakes the other, or delivers both.
void completion_and_post_for_two() {
  place at;
  operation one{at, true};
  plain_int seen = 0, done = 0;
  [](operation& its, plain_int& result) -> detached { result = co_await its; }(one, seen);
  model_thread sleeper{[&] { at.io.process_one_event(); }};
  model_thread kernel{[&] {
    one.carry_out();
    hop(at.io, done);
  }};
  at.io.process_one_event();
  sleeper.join();
  kernel.join();
  model_expect(seen == 7 && done == 1, "both have come");
}

/// The last of so many to end stops the loop.
struct last_stops {
  place& at;
  atomic<int> left;
  void one_has_ended() {
    if (left.fetch_sub(1, order::acq_rel) == 1) at.io.stop();
  }
};
detached end_after(operation& its, last_stops& all, plain_int& seen) {
  seen = co_await its;
  all.one_has_ended();
}
detached end_after_hop(last_stops& all, plain_int& done) {
  co_await all.at.io.schedule();
  ++done;
  all.one_has_ended();
}
/// A thread delivers what it has polled without the lock, while another posts.
void two_completions_against_post() {
  place at;
  last_stops all{at, {3}};
  operation one{at, true}, other{at, true};
  plain_int first = 0, second = 0, done = 0;
  end_after(one, all, first);
  end_after(other, all, second);
  model_thread kernel{[&] {
    one.carry_out_with(other);
    end_after_hop(all, done);
  }};
  at.io.process_events();
  kernel.join();
  model_expect(first == 7 && second == 7 && done == 1, "all have come");
}
/// A second thread may enter while the first delivers what it has polled.
void two_completions_for_two() {
  place at;
  last_stops all{at, {2}};
  operation one{at, true}, other{at, true};
  plain_int first = 0, second = 0;
  end_after(one, all, first);
  end_after(other, all, second);
  one.carry_out_with(other);
  model_thread helper{[&] { at.io.process_events(); }};
  at.io.process_events();
  helper.join();
  model_expect(first == 7 && second == 7, "both have come");
}

detached wait_for_timer(place& at, coracle::stop_token token, plain_int& ends) {
  try {
    co_await at.io.schedule_at(time_point{5s}, std::move(token));
  } catch (const coracle::operation_cancelled&) {
  }
  ++ends;
}
void timer_fires() {
  place at;
  plain_int ends = 0;
  wait_for_timer(at, {}, ends);
  model_thread clock{[&] {
    at.system.time.store(9, order::relaxed);
    at.system.backend->ring();
  }};
  at.io.process_one_event();
  model_expect(ends == 1, "once");
  clock.join();
}
/// The thread that fires the timer holds the lock again when the post arrives.
void timer_fires_against_post() {
  place at;
  plain_int ends = 0, done = 0;
  wait_for_timer(at, {}, ends);
  model_thread clock{[&] {
    at.system.time.store(9, order::relaxed);
    at.system.backend->ring();
    hop(at.io, done);
  }};
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(ends == 1 && done == 1, "both have come");
  clock.join();
}
void two_timers_start() {
  place at;
  plain_int first = 0, second = 0;
  model_thread other{[&] { wait_for_timer(at, {}, first); }};
  wait_for_timer(at, {}, second);
  other.join();
  at.system.time.store(9, order::relaxed);
  at.system.backend->ring();
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(first == 1 && second == 1, "both have come");
}
/// Two threads add a timer each; the loop fires each one when its time has come, and not the other.
void two_timers_come() {
  place at;
  at.system.time.store(9, order::relaxed);
  plain_int first = 0, second = 0;
  model_thread other{[&] { wait_for_timer(at, {}, first); }};
  [](place& there, plain_int& ended) -> detached {
    co_await there.io.schedule_at(time_point{20s});
    ++ended;
  }(at, second);
  at.io.process_one_event();
  model_expect(first == 1 && second == 0, "the first, whose time had come");
  other.join();
  at.system.time.store(25, order::relaxed);
  at.system.backend->ring();
  at.io.process_one_event();
  model_expect(second == 1, "the other");
}
/// For a timer that is due.
void stop_against_past_timer() {
  place at;
  at.system.time.store(9, order::relaxed);
  coracle::stop_source source;
  plain_int ends = 0;
  model_thread stopper{[&] { source.request_stop(); }};
  wait_for_timer(at, source.get_token(), ends);
  stopper.join();
  at.io.process_pending_events();
  model_expect(ends == 1, "once");
}
/// The coroutine that waited for the first timer sets the second.
void two_timers_in_turn() {
  place at;
  plain_int ends = 0;
  [](place& there, plain_int& ended) -> detached {
    co_await there.io.schedule_at(time_point{5s});
    ++ended;
    co_await there.io.schedule_at(time_point{20s});
    ++ended;
  }(at, ends);
  model_thread clock{[&] {
    at.system.time.store(9, order::relaxed);
    at.system.backend->ring();
    at.system.time.store(25, order::relaxed);
    at.system.backend->ring();
  }};
  at.io.process_one_event();
  at.io.process_one_event();
  model_expect(ends == 2, "one after the other");
  clock.join();
}
/// The loop polls in between, without sleeping.
void more_than_one_poll_allows() {
  place at;
  plain_int first = 0, second = 0, third = 0;
  hop(at.io, first);
  hop(at.io, second);
  model_thread poster{[&] { hop(at.io, third); }};
  for (int i = 0; i != 3; ++i) at.io.process_one_event();
  model_expect(first == 1 && second == 1 && third == 1, "all have come");
  poster.join();
}
/// Delivered once, by either thread.
void stop_against_timer() {
  place at;
  coracle::stop_source source;
  plain_int ends = 0;
  wait_for_timer(at, source.get_token(), ends);
  model_thread stopper{[&] { source.request_stop(); }};
  model_thread clock{[&] {
    at.system.time.store(9, order::relaxed);
    at.system.backend->ring();
  }};
  at.io.process_one_event();
  stopper.join();
  clock.join();
  at.io.process_pending_events();
  model_expect(ends == 1, "once");
}
/// A task that is destroyed where it waits, unless the timer fires first.
struct timed_end {
  plain_int destroyed = 0, handled = 0, ends = 0;
};
struct counts_destruction {
  explicit counts_destruction(timed_end& its_end) noexcept : end(its_end) {}
  counts_destruction(const counts_destruction&) = delete;
  counts_destruction& operator=(const counts_destruction&) = delete;
  ~counts_destruction() { ++end.destroyed; }
  timed_end& end;
};
detached wait_quietly(place& at, coracle::stop_token token, timed_end& end) {
  const auto waits = [&]() -> coracle::task<> {
    const counts_destruction local(end);
    try {
      co_await at.io.schedule_at(time_point{5s});
    } catch (const coracle::operation_cancelled&) {
      ++end.handled;
      throw;
    }
  };
  co_await coracle::with_stop(coracle::as_outcome(waits()), std::move(token));
  ++end.ends;
}
void expect_quiet(const timed_end& end) {
  model_expect(end.ends == 1 && end.destroyed == 1 && end.handled == 0, "once, without a throw");
}
void quiet_stop_against_timer() {
  place at;
  coracle::stop_source source;
  timed_end end;
  wait_quietly(at, source.get_token(), end);
  model_thread stopper{[&] { source.request_stop(); }};
  model_thread clock{[&] {
    at.system.time.store(9, order::relaxed);
    at.system.backend->ring();
  }};
  at.io.process_one_event();
  stopper.join();
  clock.join();
  at.io.process_pending_events();
  expect_quiet(end);
}
void quiet_stop_against_start() {
  place at;
  coracle::stop_source source;
  timed_end end;
  model_thread stopper{[&] { source.request_stop(); }};
  wait_quietly(at, source.get_token(), end);
  stopper.join();
  at.io.process_pending_events();
  expect_quiet(end);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("io_service: a post against one event", run.all, post_against_one_event);
  run.check("io_service: a post against the first socket", run.all, post_against_first_socket);
  run.check("io_service: a post and a stop", run.all, posts_and_stop);
  run.check("io_service: two posters", 4, two_posters);
  run.check("io_service: two posts for two sleepers", 4, two_posts_for_two_sleepers);
  run.check("io_service: stop of two sleepers", 4, stop_of_two_sleepers);
  run.check("io_service: the last work ends", 4, work_ends);
  run.check("io_service: work begins against reset()", run.all, work_begins_against_reset);
  run.check("io_service: a look against reset()", run.all, look_against_reset);
  run.check("io_service: the end against run()", run.all, end_against_run);
  run.check("io_service: a stop and the end, each its thread", 3, [] { stop_and_end(0); });
  run.check("io_service: the same, where a wake-up goes astray", 3, [] { stop_and_end(1); });
  run.check("io_service: a completion against run", run.all, completion_against_run<false>);
  run.check("io_service: a completion found by poll", run.all, completion_against_run<true>);
  run.check("io_service: a completion and a post for two", 3, completion_and_post_for_two);
  run.check("io_service: two completions of one poll and a post", 3, two_completions_against_post);
  run.check("io_service: two completions of one poll for two", 3, two_completions_for_two);
  run.check("io_service: a submission against a sleep", run.all, submission_against_sleep);
  run.check("io_service: a submission and a post for two", 3, submission_and_post_for_two);
  run.check("io_service: a timer fires", run.all, timer_fires);
  run.check("io_service: a timer fires against a post", 3, timer_fires_against_post);
  run.check("io_service: two timers start on two threads", run.all, two_timers_start);
  run.check("io_service: two timers come on two threads", 3, two_timers_come);
  run.check("io_service: stop against a timer that is past", run.all, stop_against_past_timer);
  run.check("io_service: two timers in turn", 4, two_timers_in_turn);
  run.check("io_service: more events than one poll allows", 4, more_than_one_poll_allows);
  run.check("io_service: stop against a timer", 4, stop_against_timer);
  run.check("io_service: stop of a task against its timer", 3, quiet_stop_against_timer);
  run.check("io_service: stop of a task against the start of its timer", run.all, quiet_stop_against_start);
  return run.finish();
}
