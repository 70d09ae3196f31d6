// tests/model/when_any.cpp -- races of children, and branches of which exactly one takes effect.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>
#include <stdexcept>

#include "model_children.hpp"
#include "model_executor.hpp"

namespace {
using coracle::async_auto_reset_event;
using coracle::async_manual_reset_event;
using coracle::channel;
using coracle::task;
using namespace coracle_test;

constexpr auto when_any = [](auto... each) { return coracle::when_any(std::move(each)...); };
constexpr auto when_any_succeeds = [](auto... each) {
  return coracle::when_any_succeeds(std::move(each)...);
};

/// Both end concurrently: one wins, both are joined.
template <class Race>
void two_ends(Race race) {
  std::coroutine_handle<> a, b;
  plain_int first = 0, second = 0;
  int won = 0, ended = 0;
  const auto wait = [&]() -> detached {
    auto one = co_await race(later(a, first, 1), later(b, second, 2));
    ++ended;
    won = one.index() == 0 ? std::get<0>(one) : std::get<1>(one);
    model_expect(won == static_cast<int>(one.index()) + 1, "the winner's value");
    model_expect(first == 1 && second == 2, "both have ended");
  };
  wait();
  resume_both(a, b);
  model_expect(ended == 1 && won != 0, "it goes on once");
}
void value_against_error() {
  std::coroutine_handle<> a, b;
  plain_int data = 0;
  int failed = 0, ended = 0;
  const auto wait = [&]() -> detached {
    try {
      co_await coracle::when_any(later(a, data, 1), fails(b));
    } catch (const std::runtime_error&) {
      ++failed;
    }
    ++ended;
  };
  wait();
  resume_both(a, b);
  model_expect(failed == 1 && ended == 1, "no error is lost, whoever wins");
}

/// Only a child that returns a value can win.
void success_against_error() {
  std::coroutine_handle<> a, b;
  plain_int data = 0;
  int won = 0;
  const auto wait = [&]() -> detached {
    auto one = co_await coracle::when_any_succeeds(later(a, data, 1), fails(b));
    won = static_cast<int>(one.index()) + std::get<0>(one) + data;
  };
  wait();
  resume_both(a, b);
  model_expect(won == 2, "the value is given, and the error dropped");
}

/// Of two events that are set concurrently, one is consumed and the other stays set: losers take no effect.
task<> either(async_auto_reset_event& a, async_auto_reset_event& b, int& index) {
  auto one = co_await coracle::when_any(a, b);
  index = static_cast<int>(one.index());
}
/// Returns whether the event was set, and resets it.
bool take(async_auto_reset_event& event) {
  wait_end end = wait_end::waits;
  stoppable_place place;
  note_end(place, event.operator co_await(), end);
  place.request_stop();
  return end == wait_end::carried_out;
}
void two_events() {
  async_auto_reset_event a, b;
  int index = -1;
  run_detached(either(a, b, index));
  model_thread setter{[&] { a.set(); }};
  b.set();
  setter.join();
  model_expect(index != -1, "it goes on");
  model_expect(take(a) == (index == 1) && take(b) == (index == 0), "one event is taken, the other is not");
}
void events_against_start() {
  async_auto_reset_event a, b;
  int index = -1;
  model_thread setter{[&] {
    a.set();
    b.set();
  }};
  run_detached(either(a, b, index));
  setter.join();
  model_expect(index != -1, "it goes on");
  model_expect(take(a) == (index == 1) && take(b) == (index == 0), "one event is taken, the other is not");
}
void event_against_stop() {
  async_auto_reset_event a, b;
  int index = -1;
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, either(a, b, index), end);
  model_thread setter{[&] { a.set(); }};
  place.request_stop();
  setter.join();
  model_expect(end != wait_end::waits, "it ends");
  model_expect(take(a) == (end == wait_end::cancelled), "the set() is used once, and not lost");
  model_expect((index == 0) == (end == wait_end::carried_out), "by the one that was set");
}
/// A stop request before the children are started, or between their starts.
void stop_against_start() {
  async_auto_reset_event a, b;
  int index = -1;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, either(a, b, index), end);
  stopper.join();
  model_expect(end == wait_end::cancelled && index == -1, "it ends as cancelled");
}
/// A child that is a task is stopped and joined; one that has already ended keeps its outcome.
void event_against_task() {
  async_manual_reset_event a;
  std::coroutine_handle<> b;
  plain_int data = 0;
  int index = -1;
  const auto wait = [&]() -> detached {
    auto one = co_await coracle::when_any(a, later(b, data, 1));
    model_expect(data == 1, "the task is joined");
    index = static_cast<int>(one.index());
  };
  wait();
  model_thread setter{[&] { a.set(); }};
  coracle::resume(b);
  setter.join();
  model_expect(index != -1, "it goes on");
}

// ---- select ----

/// Exactly one of two receives happens.
detached receive_one(channel<int>& a, channel<int>& b, int& got) {
  auto one = co_await coracle::select(a.recv(), b.recv());
  got = one.index() == 0 ? std::get<0>(one).value_or(-1) : std::get<1>(one).value_or(-1);
}
void select_two_receives() {
  channel<int> a{1}, b{1};
  int got = 0;
  receive_one(a, b, got);
  model_thread sender{[&] { model_expect(a.try_send(1), "there is room"); }};
  model_expect(b.try_send(2), "there is room");
  sender.join();
  const int left_a = a.try_recv().value_or(0), left_b = b.try_recv().value_or(0);
  model_expect(got != 0 && got + left_a + left_b == 3, "one element is received, the other stays");
}
void select_against_start() {
  channel<int> a{1}, b{1};
  int got = 0;
  model_thread sender{[&] {
    model_expect(a.try_send(1), "there is room");
    model_expect(b.try_send(2), "there is room");
  }};
  receive_one(a, b, got);
  sender.join();
  const int left_a = a.try_recv().value_or(0), left_b = b.try_recv().value_or(0);
  model_expect(got != 0 && got + left_a + left_b == 3, "one element is received, the other stays");
}
/// A select that sends and one that receives: both take effect, or neither.
detached send_either(channel<int>& a, channel<int>& b, int& sent) {
  auto one = co_await coracle::select(a.send(1), b.send(2));
  sent = static_cast<int>(one.index()) + 1;
}
void select_meets_select() {
  channel<int> a{0}, b{0};
  int got = 0, sent = 0;
  model_thread sender{[&] { send_either(a, b, sent); }};
  receive_one(a, b, got);
  sender.join();
  model_expect(got != 0 && got == sent, "what is received is what was sent");
}
/// With opposite orders of branches, and a third coroutine that uses one of the channels.
detached receive_other_way(channel<int>& a, channel<int>& b, int& got) {
  auto one = co_await coracle::select(b.recv(), a.recv());
  got = one.index() == 0 ? std::get<0>(one).value_or(-1) : std::get<1>(one).value_or(-1);
}
void select_meets_select_crosswise() {
  channel<int> a{0}, b{0};
  int got = 0, sent = 0;
  model_thread sender{[&] { send_either(a, b, sent); }};
  receive_other_way(a, b, got);
  sender.join();
  model_expect(got != 0 && got == sent, "what is received is what was sent");
}
/// Two selects that receive, with opposite orders of branches, and one that sends: it reaches one of them.
void three_selects() {
  channel<int> a{0}, b{0};
  int one = 0, other = 0, sent = 0;
  model_thread sender{[&] { send_either(a, b, sent); }};
  model_thread receiver{[&] { receive_other_way(a, b, other); }};
  receive_one(a, b, one);
  sender.join();
  receiver.join();
  model_expect(sent != 0 && one + other == sent, "one of them has received what was sent");
  a.close();
  b.close();
  model_expect(one + other == sent - 1, "the other learns of the end");
}
void select_against_close() {
  channel<int> a{1}, b{1};
  int got = 0;
  receive_one(a, b, got);
  model_thread closer{[&] { a.close(); }};
  model_expect(b.try_send(2), "there is room");
  closer.join();
  const int left = b.try_recv().value_or(0);
  model_expect((got == -1 && left == 2) || (got == 2 && left == 0),
               "the end of one, or the element of the other");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("when_any: two ends", run.all, [] { two_ends(when_any); });
  run.check("when_any: a value against an error", run.all, value_against_error);
  run.check("when_any: two errors", run.all, [] { two_failures(when_any); });
  run.check("when_any_succeeds: two ends", run.all, [] { two_ends(when_any_succeeds); });
  run.check("when_any_succeeds: a value against an error", run.all, success_against_error);
  run.check("when_any_succeeds: two errors", run.all, [] { two_failures(when_any_succeeds); });
  run.check("when_any: two events", run.all, two_events);
  run.check("when_any: events against start", 4, events_against_start);
  run.check("when_any: an event against a stop request", 3, event_against_stop);
  run.check("when_any: stop against start", 4, stop_against_start);
  run.check("when_any: an event against a task", run.all, event_against_task);
  run.check("select: two receives", run.all, select_two_receives);
  run.check("select: two sends against its start", 4, select_against_start);
  run.check("select: meets a select", 4, select_meets_select);
  run.check("select: meets a select crosswise", 3, select_meets_select_crosswise);
  run.check("select: three at once", 1, three_selects);
  run.check("select: an element against an end", run.all, select_against_close);
  return run.finish();
}
