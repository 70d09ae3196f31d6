// tests/model/io_loop.cpp -- the event loop over a modelled system: no thread sleeps through an event.
// SPDX-License-Identifier: MIT
#include <coroutine>

#include "played_io_system.hpp"

namespace {
using namespace coracle_test;

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
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("io_service: a post against one event", run.all, post_against_one_event);
  run.check("io_service: a post against the first socket", run.all, post_against_first_socket);
  run.check("io_service: a post and a stop", run.all, posts_and_stop);
  run.check("io_service: two posters", 4, two_posters);
  run.check("io_service: two posts for two sleepers", 3, two_posts_for_two_sleepers);
  run.check("io_service: stop of two sleepers", 3, stop_of_two_sleepers);
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
  run.check("io_service: more events than one poll allows", 4, more_than_one_poll_allows);
  return run.finish();
}
