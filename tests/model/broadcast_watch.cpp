// tests/model/broadcast_watch.cpp -- published values and the receivers that wait for more.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/watched_value.hpp>
#include <optional>
#include <vector>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::broadcast;
using coracle::broadcast_subscription;
using coracle::value_observer;
using coracle::watched_value;
using namespace coracle_test;

/// A value. What its sender wrote before sending must be visible to the receiver.
struct item {
  int value = 0;
  const plain_int* data = nullptr;
};
constexpr int nothing = -1;

detached receive(broadcast_subscription<item>& from, int& seen) {
  int got = 0;
  try {
    const auto next = co_await from.recv();
    got = next ? next->value + (next->data ? *next->data : plain_int(0)) : nothing;
  } catch (const coracle::lagged& missed) {
    got = 100 * static_cast<int>(missed.lost());
  }
  seen = got;
}
void send_against_recv() {
  broadcast<item> values{2};
  auto mine = values.subscribe();
  plain_int data = 0;
  int seen = 0;
  model_thread sender{[&] {
    data = 40;
    values.send({2, &data});
  }};
  receive(mine, seen);
  sender.join();
  model_expect(seen == 42, "the value, and what was written before it");
}
template <unsigned Subscribers>
void subscribers_and_send() {
  broadcast<item> values{2};
  std::vector<coracle::broadcast_subscription<item>> all;
  std::array<int, Subscribers> seen{};
  for (unsigned i = 0; i != Subscribers; ++i) all.push_back(values.subscribe());
  together(Subscribers + 1, [&](unsigned index) {
    index == 0 ? static_cast<void>(values.send({2, nullptr}))
               : static_cast<void>(receive(all[index - 1], seen[index - 1]));
  });
  for (const int each : seen) model_expect(each == 2, "all get the value");
}
void two_senders() {
  broadcast<item> values{2};
  auto mine = values.subscribe(), others = values.subscribe();
  int first = 0, second = 0, a = 0, b = 0;
  model_thread sender{[&] { values.send({1, nullptr}); }};
  values.send({2, nullptr});
  sender.join();
  receive(mine, first);
  receive(mine, second);
  receive(others, a);
  receive(others, b);
  model_expect(first * second == 2 && a == first && b == second, "both, in one order for all");
}
/// The subscriber is one value behind, or has missed the oldest and is told so.
void lag_against_recv() {
  broadcast<item> values{1};
  auto mine = values.subscribe();
  int first = 0, second = 0;
  values.send({1, nullptr});
  model_thread sender{[&] { values.send({2, nullptr}); }};
  receive(mine, first);
  sender.join();
  model_expect(first == 1 || first == 100, "the oldest, or that it is lost");
  receive(mine, second);
  model_expect(second == 2, "then the next");
}
/// A subscription receives every value that is sent after it was made.
void subscribe_against_send() {
  broadcast<item> values{2};
  int first = 0;
  model_thread sender{[&] {
    values.send({1, nullptr});
    values.send({2, nullptr});
    values.close();
  }};
  auto mine = values.subscribe();
  receive(mine, first);
  sender.join();
  model_expect(first == 1 || first == 2 || first == nothing, "from one of them on");
  if (first == 1) {
    int second = 0;
    receive(mine, second);
    model_expect(second == 2, "none is left out");
  }
}
void close_against_recv() {
  broadcast<item> values{1};
  auto mine = values.subscribe();
  int first = 0, second = 0;
  model_thread closer{[&] {
    values.send({1, nullptr});
    values.close();
  }};
  receive(mine, first);
  closer.join();
  receive(mine, second);
  model_expect(first == 1 && second == nothing, "the value, then the end");
}
/// The broadcast is destroyed while its subscriber reads: both share ownership of the state.
void end_against_recv() {
  std::optional<broadcast<item>> values(std::in_place, std::size_t{1});
  std::optional<broadcast_subscription<item>> mine(values->subscribe());
  int seen = 0;
  model_thread ender{[&] { values.reset(); }};
  receive(*mine, seen);
  mine.reset();
  ender.join();
  model_expect(seen == nothing, "the end");
}
void stop_against_send() {
  broadcast<item> values{1};
  auto mine = values.subscribe();
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, mine.recv(), end);
  model_thread sender{[&] { values.send({2, nullptr}); }};
  place.request_stop();
  sender.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  int next = 0;
  if (end == wait_end::cancelled) {
    receive(mine, next);
    model_expect(next == 2, "no value is lost by it");
  }
}
void stop_and_send_against_start() {
  broadcast<item> values{1};
  auto mine = values.subscribe();
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread sender{[&] { values.send({2, nullptr}); }};
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, mine.recv(), end);
  sender.join();
  stopper.join();
  model_expect(end != wait_end::waits, "the wait has ended");
}

// ---- watch ----

detached follow(value_observer<item>& from, int& seen) {
  const auto latest = co_await from.changed();
  seen = latest ? latest->value + (latest->data ? *latest->data : plain_int(0)) : nothing;
}
void set_against_changed() {
  watched_value<item> value{item{}};
  auto mine = value.observe();
  plain_int data = 0;
  int seen = 0;
  model_thread setter{[&] {
    data = 40;
    value.set({2, &data});
  }};
  follow(mine, seen);
  setter.join();
  model_expect(seen == 42, "the value, and what was written before it");
}
void two_sets_against_changed() {
  watched_value<item> value{item{}};
  auto mine = value.observe();
  int first = 0;
  model_thread setter{[&] {
    value.set({1, nullptr});
    value.set({2, nullptr});
  }};
  follow(mine, first);
  setter.join();
  model_expect(first == 1 || first == 2, "the latest, by then");
  model_expect(mine.get()->value == 2, "and at last the last");
}
void set_against_get() {
  plain_int data = 0;
  watched_value<item> value{item{}};
  model_thread setter{[&] {
    data = 40;
    value.set({2, &data});
  }};
  const auto latest = value.get();
  model_expect(latest->value == 0 || *latest->data == 40, "the one before, or the new one whole");
  setter.join();
}
void end_against_changed() {
  std::optional<watched_value<item>> value(std::in_place, item{});
  std::optional<value_observer<item>> mine(value->observe());
  int first = 0, second = 0;
  model_thread ender{[&] {
    value->set({1, nullptr});
    value.reset();
  }};
  follow(*mine, first);
  ender.join();
  follow(*mine, second);
  mine.reset();
  model_expect(first == 1 && second == nothing, "the last value, then the end");
}
void stop_against_set() {
  watched_value<item> value{item{}};
  auto mine = value.observe();
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, mine.changed(), end);
  model_thread setter{[&] { value.set({2, nullptr}); }};
  place.request_stop();
  setter.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  int next = 0;
  if (end == wait_end::cancelled) {
    follow(mine, next);
    model_expect(next == 2, "the next wait sees the change");
  }
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("broadcast: send against recv", run.all, send_against_recv);
  run.check("broadcast: two subscribers", 4, subscribers_and_send<2>);
  run.check("broadcast: three subscribers", 3, subscribers_and_send<3>);
  run.check("broadcast: two senders", run.all, two_senders);
  run.check("broadcast: a subscriber that lags", run.all, lag_against_recv);
  run.check("broadcast: subscribe against send", run.all, subscribe_against_send);
  run.check("broadcast: close against recv", run.all, close_against_recv);
  run.check("broadcast: its end against recv", run.all, end_against_recv);
  run.check("broadcast: stop against send", run.all, stop_against_send);
  run.check("broadcast: stop and send against start", 4, stop_and_send_against_start);
  run.check("watched_value: set against changed", run.all, set_against_changed);
  run.check("watched_value: two sets against changed", run.all, two_sets_against_changed);
  run.check("watched_value: set against get", run.all, set_against_get);
  run.check("watched_value: its end against changed", run.all, end_against_changed);
  run.check("watched_value: stop against set", run.all, stop_against_set);
  return run.finish();
}
