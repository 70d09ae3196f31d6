// tests/model/channel.cpp -- senders and receivers, the end of a channel, and stop requests.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <memory>

#include "channel_cases.hpp"
#include "model_executor.hpp"

namespace {
using coracle::channel;
using coracle::task;
using coracle::unbounded_channel;
using namespace coracle_test;

/// An element. What its sender wrote before sending must be visible to the receiver.
struct item {
  item(int its_value, const plain_int* written = nullptr) noexcept : value(its_value), data(written) {}
  int value;
  const plain_int* data;
};

template <class Channel>
detached receive(Channel& from, int& seen) {
  const auto got = co_await from.recv();
  seen = got ? got->value + (got->data ? *got->data : plain_int(0)) : nothing;
}
detached send(channel<item>& to, item what, sent& end) {
  sent how = sent::well;
  try {
    co_await to.send(what);
  } catch (const coracle::channel_closed&) {
    how = sent::refused;
  }
  end = how;
}

// ---- one sender, one receiver ----

void send_against_recv(std::size_t capacity) {
  channel<item> ch{capacity};
  plain_int data = 0;
  int seen = 0;
  sent end = sent::waits;
  model_thread sender{[&] {
    data = 40;
    send(ch, {2, &data}, end);
  }};
  receive(ch, seen);
  sender.join();
  model_expect(seen == 42 && end == sent::well, "the element, and what was written before it");
}
/// The first waiter has lost its choice, so the sender, which sees a waiter, puts the element into the
/// buffer.
void send_past_a_lost_one_against_recv() {
  channel<item> ch{1};
  coracle::detail::choice one_of;
  stoppable_place stops;
  wait_end lost = wait_end::waits;
  int seen = 0;
  sent end = sent::waits;
  model_expect(one_of.claim(), "by another branch");
  note_end(stops, one_of, ch.recv(), lost);
  model_thread sender{[&] { send(ch, {2, nullptr}, end); }};
  receive(ch, seen);
  sender.join();
  stops.request_stop();
  model_expect(seen == 2 && end == sent::well && lost == wait_end::cancelled, "the other gets it");
}
void send_now_against_recv() {
  unbounded_channel<item> ch;
  plain_int data = 0;
  int seen = 0;
  model_thread sender{[&] {
    data = 40;
    ch.send({2, &data});
  }};
  receive(ch, seen);
  sender.join();
  model_expect(seen == 42, "the element, and what was written before it");
}
void try_against_try() {
  channel<item> ch{1};
  plain_int data = 0;
  bool was_sent = false;
  model_thread sender{[&] {
    data = 40;
    was_sent = ch.try_send({2, &data});
  }};
  const auto got = ch.try_recv();
  if (got) model_expect(got->value + *got->data == 42, "the element, and what was written before it");
  sender.join();
  model_expect(was_sent && ch.try_recv().has_value() == !got, "it is there once");
}
/// Elements arrive in order although the second send waits for room.
void two_sends_in_order(std::size_t capacity) {
  channel<item> ch{capacity};
  int first = 0, second = 0;
  sent a = sent::waits, b = sent::waits;
  model_thread sender{[&] {
    send(ch, 1, a);
    send(ch, 2, b);
  }};
  receive(ch, first);
  receive(ch, second);
  sender.join();
  model_expect(first == 1 && second == 2, "first sent, first received");
  model_expect(a == sent::well && b == sent::well, "both are sent");
}
void receiver_on_executor() {
  channel<item> ch{0};
  model_executor place;
  int seen = 0;
  sent end = sent::waits;
  const auto wait = [&]() -> detached {
    co_await place.schedule();
    const auto got = co_await ch.recv();
    model_expect(coracle::current_executor() == &place, "it goes on where it was");
    seen = got->value;
  };
  model_thread sender{[&] { send(ch, 2, end); }};
  wait();
  while (seen == 0) place.run(1);
  sender.join();
  model_expect(seen == 2 && end == sent::well, "it has the element");
}
/// The waiter that is woken last destroys the channel.
void destroyed_by_the_receiver() {
  auto ch = std::make_unique<unbounded_channel<item>>();
  int seen = 0;
  const auto wait = [&]() -> detached {
    const auto got = co_await ch->recv();
    seen = got->value;
    ch.reset();
  };
  wait();
  model_thread sender{[to = ch.get()] { to->send(2); }};
  sender.join();
  model_expect(seen == 2 && !ch, "received");
}

// ---- two of them ----

void two_senders(std::size_t capacity) {
  channel<item> ch{capacity};
  int first = 0, second = 0;
  sent a = sent::waits, b = sent::waits;
  model_thread one{[&] { send(ch, 1, a); }};
  model_thread other{[&] { send(ch, 2, b); }};
  receive(ch, first);
  receive(ch, second);
  one.join();
  other.join();
  model_expect(first + second == 3 && first != second && first * second == 2, "each element once");
  model_expect(a == sent::well && b == sent::well, "both are sent");
}
void two_receivers(std::size_t capacity) {
  channel<item> ch{capacity};
  int first = 0, second = 0;
  sent a = sent::waits, b = sent::waits;
  model_thread one{[&] { receive(ch, first); }};
  model_thread other{[&] { receive(ch, second); }};
  send(ch, 1, a);
  send(ch, 2, b);
  one.join();
  other.join();
  model_expect(first * second == 2, "each element once");
  model_expect(a == sent::well && b == sent::well, "both are sent");
}
void two_and_two() {
  channel<item> ch{0};
  int first = 0, second = 0;
  sent a = sent::waits, b = sent::waits;
  model_thread one{[&] { receive(ch, first); }};
  model_thread other{[&] { receive(ch, second); }};
  model_thread sender{[&] { send(ch, 1, a); }};
  send(ch, 2, b);
  one.join();
  other.join();
  sender.join();
  model_expect(first * second == 2, "each element once");
  model_expect(a == sent::well && b == sent::well, "both are sent");
}
/// Both senders find that no chunk has been allocated yet.
void two_senders_grow() {
  unbounded_channel<item> ch;
  model_thread one{[&] { ch.send(1); }};
  ch.send(2);
  one.join();
  const int first = ch.try_recv()->value, second = ch.try_recv()->value;
  model_expect(first * second == 2 && !ch.try_recv(), "each element once");
}
/// An element so large that a chunk holds only eight.
struct large_item {
  int value;
  char rest[256];
};
/// The first chunk is full: both senders find no other one, while its elements are being received.
void two_senders_grow_further() {
  unbounded_channel<large_item> ch;
  int next = 0, seen = 0;
  while (next != 8) ch.send({++next, {}});
  model_thread one{[&] { ch.send({9, {}}); }};
  model_thread other{[&] { ch.send({10, {}}); }};
  while (seen != 4) model_expect(ch.try_recv()->value == ++seen, "in order");
  one.join();
  other.join();
  while (seen != 8) model_expect(ch.try_recv()->value == ++seen, "in order");
  const int first = ch.try_recv()->value, second = ch.try_recv()->value;
  model_expect(first * second == 90 && !ch.try_recv(), "each element once");
}
/// The receiver keeps an empty chunk for the next sender that needs one.
void chunk_is_used_again() {
  unbounded_channel<large_item> ch;
  int next = 0, seen = 0;
  while (next != 16) ch.send({++next, {}});
  while (seen != 7) model_expect(ch.try_recv()->value == ++seen, "in order");
  model_thread sender{[&] { ch.send({17, {}}); }};
  while (seen != 9) model_expect(ch.try_recv()->value == ++seen, "in order");
  sender.join();
  while (seen != 17) model_expect(ch.try_recv()->value == ++seen, "in order");
  model_expect(!ch.try_recv(), "each element once");
}

// ---- stop requests ----

void stop_send_against_recv(std::size_t capacity) {
  channel<item> ch{capacity};
  stoppable_place place;
  wait_end end = wait_end::waits;
  if (capacity != 0) model_expect(ch.try_send(1), "there is room");
  note_end(place, ch.send(2), end);
  int received = 0;
  model_thread receiver{[&] {
    const auto got = ch.try_recv();
    received = got ? got->value : 0;
  }};
  place.request_stop();
  receiver.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  const bool is_sent = capacity == 0 ? received == 2 : received == 1 && ch.try_recv().has_value();
  model_expect(is_sent == (end == wait_end::carried_out), "a cancelled send() has sent nothing");
}
void stop_send_against_start() {
  channel<item> ch{0};
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, ch.send(2), end);
  stopper.join();
  model_expect(end == wait_end::cancelled && !ch.try_recv(), "cancelled, and nothing is sent");
}
/// The first receiver is stopped while an element arrives: the next receiver gets it.
void stop_the_first_of_two() {
  channel<item> ch{1};
  stoppable_place place;
  wait_end end = wait_end::waits;
  int second = 0;
  note_end(place, ch.recv(), end);
  receive(ch, second);
  model_thread sender{[&] { model_expect(ch.try_send(2), "there is room"); }};
  place.request_stop();
  sender.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  model_expect((second == 2) == (end == wait_end::cancelled), "one of them has the element");
  ch.close();
}
detached_in_place send_in(const stoppable_place&, channel<item>& to, sent& end) {
  sent how = sent::well;
  try {
    co_await to.send(1);
  } catch (const coracle::channel_closed&) {
    how = sent::refused;
  }
  end = how;
}
/// A refused sender has deregistered its stop callback, and may be destroyed.
void stop_after_close() {
  channel<item> ch{0};
  stoppable_place place;
  sent end = sent::waits;
  send_in(place, ch, end);
  ch.close();
  model_expect(end == sent::refused, "it is refused");
  place.request_stop();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("channel: send against recv", run.all, [] { send_against_recv(1); });
  run.check("channel of 0: send against recv", run.all, [] { send_against_recv(0); });
  run.check("channel: send past a lost receiver against recv", run.all, send_past_a_lost_one_against_recv);
  run.check("unbounded channel: send against recv", run.all, send_now_against_recv);
  run.check("channel: try_send against try_recv", run.all, try_against_try);
  run.check("channel: two sends in order", 4, [] { two_sends_in_order(1); });
  run.check("channel of 0: two sends in order", 4, [] { two_sends_in_order(0); });
  run.check("channel: a receiver on an executor", run.all, receiver_on_executor);
  run.check("unbounded channel: destroyed by the receiver", run.all, destroyed_by_the_receiver);
  run.check("channel: two senders", 4, [] { two_senders(1); });
  run.check("channel of 0: two senders", 4, [] { two_senders(0); });
  run.check("channel: two receivers", 4, [] { two_receivers(1); });
  run.check("channel of 0: two receivers", 4, [] { two_receivers(0); });
  run.check("channel of 0: two senders, two receivers", 3, two_and_two);
  run.check("unbounded channel: two senders", run.all, two_senders_grow);
  run.check("unbounded channel: two senders need another chunk", 3, two_senders_grow_further);
  run.check("unbounded channel: a chunk is used again", run.all, chunk_is_used_again);
  run.check("channel: close against recv", run.all, close_against_recv<channel<item>>);
  run.check("channel: close against send", run.all, close_against_send<channel<item>>);
  run.check("channel: close against send and recv", 4, close_against_send_and_recv<channel<item>, 1>);
  run.check("channel of 0: close against send and recv", 4, close_against_send_and_recv<channel<item>, 0>);
  run.check("channel: close against a sender that waits", run.all,
            close_against_waiting_sender<channel<item>>);
  run.check("channel: stop of recv against send", run.all, stop_recv_against_send<channel<item>>);
  run.check("channel: stop and send against recv", 4, stop_and_send_against_recv<channel<item>>);
  run.check("channel: stop of send against recv", run.all, [] { stop_send_against_recv(1); });
  run.check("channel of 0: stop of send against recv", run.all, [] { stop_send_against_recv(0); });
  run.check("channel of 0: stop of send against its start", run.all, stop_send_against_start);
  run.check("channel: stop of the first of two", run.all, stop_the_first_of_two);
  run.check("channel: stop against close", run.all, stop_against_close<channel<item>>);
  run.check("channel: stop after close", run.all, stop_after_close);
  return run.finish();
}
