// tests/model/channel_cases.hpp -- how every channel ends, and what a stop request does to it.
// A file that includes this defines the elements of the channel, receive(channel, seen), which gives
// `nothing` at the end, and send(channel, value, end).
// SPDX-License-Identifier: MIT
#pragma once
#include "model_waits.hpp"

namespace coracle_test {
constexpr int nothing = -1;
enum class sent { waits, well, refused };

// ---- the end ----

template <class Channel>
void close_against_recv() {
  Channel ch{1};
  plain_int data = 0;
  int seen = 0;
  model_thread closer{[&] {
    data = 7;
    ch.close();
  }};
  receive(ch, seen);
  if (ch.is_closed()) model_expect(data == 7, "with what was done before it");
  closer.join();
  model_expect(seen == nothing, "the receiver learns of the end");
}
template <class Channel>
void close_against_send() {
  Channel ch{1};
  int seen = 0;
  sent end = sent::waits;
  model_thread sender{[&] { send(ch, 2, end); }};
  ch.close();
  receive(ch, seen);
  sender.join();
  model_expect(seen == (end == sent::well ? 2 : nothing), "what was sent is received, what was refused not");
}
template <class Channel, unsigned Capacity>
void close_against_send_and_recv() {
  Channel ch{Capacity};
  int seen = 0;
  sent end = sent::waits;
  model_thread sender{[&] { send(ch, 2, end); }};
  model_thread closer{[&] { ch.close(); }};
  receive(ch, seen);
  sender.join();
  closer.join();
  model_expect(end != sent::waits && seen == (end == sent::well ? 2 : nothing),
               "received if it was sent, else told");
}
/// Waiting senders are refused; elements in the channel can still be received.
template <class Channel>
void close_against_waiting_sender() {
  Channel ch{1};
  int first = 0, second = 0;
  sent a = sent::waits, b = sent::waits;
  send(ch, 1, a);
  send(ch, 2, b);
  model_expect(b == sent::waits, "it is full");
  model_thread closer{[&] { ch.close(); }};
  receive(ch, first);
  closer.join();
  receive(ch, second);
  model_expect(first == 1, "what was in it is received");
  model_expect(second == (b == sent::well ? 2 : nothing) && b != sent::waits, "and what had room");
}

// ---- stop requests ----

template <class Channel>
void expect_taken_once(Channel& ch, wait_end end) {
  model_expect(end != wait_end::waits, "the wait has ended");
  model_expect(ch.try_recv().has_value() == (end == wait_end::cancelled),
               "a cancelled recv() has taken nothing");
}
template <class Channel>
void stop_recv_against_send() {
  Channel ch{1};
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, ch.recv(), end);
  model_thread sender{[&] { model_expect(ch.try_send(2), "there is room"); }};
  place.request_stop();
  sender.join();
  expect_taken_once(ch, end);
}
/// The stop request may arrive before the receiver begins to wait.
template <class Channel>
void stop_and_send_against_recv() {
  Channel ch{1};
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_thread sender{[&] { model_expect(ch.try_send(2), "there is room"); }};
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, ch.recv(), end);
  sender.join();
  stopper.join();
  expect_taken_once(ch, end);
}
template <class Channel>
void stop_against_close() {
  Channel ch{1};
  stoppable_place place;
  wait_end end = wait_end::waits;
  note_end(place, ch.recv(), end);
  model_thread closer{[&] { ch.close(); }};
  place.request_stop();
  closer.join();
  model_expect(end != wait_end::waits, "the wait has ended");
}
}  // namespace coracle_test
