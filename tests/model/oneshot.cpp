// tests/model/oneshot.cpp -- the two ends of a oneshot, each of which may go first.
// SPDX-License-Identifier: MIT
#include <coracle/channels/oneshot.hpp>
#include <optional>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::oneshot_receiver;
using coracle::oneshot_sender;
using namespace coracle_test;

/// A value whose life the checker watches.
struct watched {
  explicit watched(int initial) : value(initial) {}
  watched(watched&& other) noexcept : value(std::exchange(other.value, 0)) {}
  watched& operator=(watched&&) = delete;
  ~watched() { value = -1; }
  plain_int value;
};
struct ends {
  std::optional<oneshot_sender<watched>> sender;
  std::optional<oneshot_receiver<watched>> receiver;
  ends() {
    auto [s, r] = coracle::oneshot<watched>();
    sender.emplace(std::move(s));
    receiver.emplace(std::move(r));
  }
};
constexpr int broken = -1;

/// Receives, and drops its end immediately.
detached receive(std::optional<oneshot_receiver<watched>>& from, int& seen) {
  int got = 0;
  try {
    const watched value = co_await from->recv();
    got = value.value;
  } catch (const coracle::broken_promise&) {
    got = broken;
  }
  from.reset();
  seen = got;
}

void send_against_recv() {
  ends two;
  int seen = 0;
  model_thread sender{[&] { model_expect(!two.sender->send(watched(7)), "the receiver is there"); }};
  receive(two.receiver, seen);
  sender.join();
  model_expect(seen == 7, "the value arrives");
}
void drop_against_recv() {
  ends two;
  int seen = 0;
  model_thread sender{[&] { two.sender.reset(); }};
  receive(two.receiver, seen);
  sender.join();
  model_expect(seen == broken, "the receiver is told");
}
void send_against_drop() {
  ends two;
  int back = 0;
  model_thread sender{[&] {
    const auto given_back = two.sender->send(watched(7));
    if (given_back) back = given_back->value;
    two.sender.reset();
  }};
  two.receiver.reset();
  sender.join();
  model_expect(back == 0 || back == 7, "it comes back whole, or is destroyed with the receiver");
}
void drop_against_drop() {
  ends two;
  model_thread sender{[&] { two.sender.reset(); }};
  two.receiver.reset();
}
void receiver_on_executor() {
  ends two;
  model_executor place;
  int seen = 0;
  const auto wait = [&]() -> detached {
    co_await place.schedule();
    const watched value = co_await two.receiver->recv();
    model_expect(coracle::current_executor() == &place, "it goes on where it was");
    seen = value.value;
  };
  model_thread sender{[&] { static_cast<void>(two.sender->send(watched(7))); }};
  wait();
  while (seen == 0) place.run(1);
  sender.join();
  model_expect(seen == 7, "the value arrives");
}
/// A stop request ends the wait; the value stays for the next.
void stop_against_send() {
  ends two;
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, two.receiver->recv(), end);
  model_thread sender{[&] { model_expect(!two.sender->send(watched(7)), "the receiver is there"); }};
  place.request_stop();
  sender.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  int seen = 0;
  receive(two.receiver, seen);
  model_expect(seen == (end == wait_end::cancelled ? 7 : broken), "the value is taken once");
}
void stop_against_drop() {
  ends two;
  stoppable_place place;
  wait_end end = wait_end::waits;
  const auto wait = [](oneshot_receiver<watched>& from, bool& is_broken) -> coracle::task<> {
    try {
      static_cast<void>(co_await from.recv());
    } catch (const coracle::broken_promise&) {
      is_broken = true;
    }
  };
  bool is_broken = false;
  note_end(place, wait(*two.receiver, is_broken), end);
  model_thread sender{[&] { two.sender.reset(); }};
  place.request_stop();
  sender.join();
  model_expect(end != wait_end::waits && is_broken == (end == wait_end::carried_out),
               "the wait has ended, somehow");
  two.receiver.reset();
}
void stop_and_send_against_start() {
  ends two;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread sender{[&] { model_expect(!two.sender->send(watched(7)), "the receiver is there"); }};
  note_end(place, two.receiver->recv(), end);
  stopper.join();
  sender.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  int seen = 0;
  receive(two.receiver, seen);
  model_expect(seen == (end == wait_end::cancelled ? 7 : broken), "the value is taken once");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("oneshot: send against recv", run.all, send_against_recv);
  run.check("oneshot: a dropped sender against recv", run.all, drop_against_recv);
  run.check("oneshot: send against a dropped receiver", run.all, send_against_drop);
  run.check("oneshot: both ends are dropped", run.all, drop_against_drop);
  run.check("oneshot: a receiver on an executor", run.all, receiver_on_executor);
  run.check("oneshot: stop against send", run.all, stop_against_send);
  run.check("oneshot: stop against a dropped sender", run.all, stop_against_drop);
  run.check("oneshot: stop and send against start", 4, stop_and_send_against_start);
  return run.finish();
}
