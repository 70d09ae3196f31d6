// tests/model/choice.cpp -- branches of which one is carried out, and the channels in which they meet.
// SPDX-License-Identifier: MIT
#include <coracle/compose/channel.hpp>
#include <coracle/core/choice.hpp>

#include "model_waits.hpp"

namespace {
using coracle::channel;
using coracle::stop_source;
using coracle::detail::choice;
using coracle_test::detached;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::wait_end;
using meeting = choice::meeting;

/// Each arrives where the other waits: one of them has both, the other none; none waits for ever.
void claim_each_other() {
  choice a, b;
  meeting first = meeting::other_is_lost;
  model_thread other{[&] { first = choice::claim_both(&a, &b); }};
  const meeting second = choice::claim_both(&b, &a);
  other.join();
  model_expect((first == meeting::both) != (second == meeting::both), "one of them has claimed both");
  model_expect(a.is_claimed() && b.is_claimed(), "both are claimed");
}
/// Somebody claims one of them meanwhile: then that is his, and the other is claimed by nobody.
void claim_two_against_one() {
  choice a, b;
  meeting met = meeting::other_is_lost;
  model_thread other{[&] { met = choice::claim_both(&a, &b); }};
  const bool mine = a.claim();
  other.join();
  model_expect(mine == (met != meeting::both), "the first is claimed once");
  model_expect(a.is_claimed() && b.is_claimed() == !mine, "the second with it, or not at all");
}
void claim_two_against_other() {
  choice a, b;
  meeting met = meeting::mine_is_lost;
  model_thread other{[&] { met = choice::claim_both(&a, &b); }};
  const bool mine = b.claim();
  other.join();
  model_expect(mine == (met == meeting::other_is_lost), "the second is claimed once");
  model_expect(b.is_claimed() && a.is_claimed() == !mine, "the first with it, or not at all");
}
/// Three in a circle: exactly one pair.
void claim_in_a_circle() {
  choice a, b, c;
  int pairs = 0;
  bool one = false, two = false;
  model_thread first{[&] { one = choice::claim_both(&a, &b) == meeting::both; }};
  model_thread second{[&] { two = choice::claim_both(&b, &c) == meeting::both; }};
  pairs += choice::claim_both(&c, &a) == meeting::both;
  first.join();
  second.join();
  pairs += one + two;
  model_expect(pairs == 1, "one pair");
}

detached receive(channel<int>& from, plain_int& data, int& seen) {
  const auto got = co_await from.recv();
  seen = got ? *got + data : -1;
}
/// Also what was written before the send arrives.
void send_against_recv() {
  channel<int> ch{1};
  plain_int data = 0;
  int seen = 0;
  model_thread sender{[&] {
    data = 40;
    model_expect(ch.try_send(2), "there is room");
  }};
  receive(ch, data, seen);
  sender.join();
  model_expect(seen == 42, "the element, and what was written before it");
}
void send_against_close() {
  channel<int> ch{1};
  plain_int data = 0;
  int seen = 0;
  bool sent = false;
  model_thread sender{[&] { sent = ch.try_send(2); }};
  model_thread closer{[&] { ch.close(); }};
  receive(ch, data, seen);
  sender.join();
  closer.join();
  model_expect(seen == (sent ? 2 : -1), "received if it was sent, else told of the end");
}
void send_against_stop() {
  channel<int> ch{1};
  stop_source source;
  wait_end end = wait_end::waits;
  model_thread sender{[&] { model_expect(ch.try_send(2), "there is room"); }};
  model_thread stopper{[&] { source.request_stop(); }};
  note_end(ch.recv(), source.get_token(), end);
  sender.join();
  stopper.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  model_expect(ch.try_recv().has_value() == (end == wait_end::cancelled),
               "a cancelled recv() has taken nothing");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("choice: two claim each other", model_test::all, claim_each_other);
  run.check("choice: two together, against one of them", model_test::all, claim_two_against_one);
  run.check("choice: two together, against the other", model_test::all, claim_two_against_other);
  run.check("choice: three in a circle", 3, claim_in_a_circle);
  run.check("channel: send against recv", 4, send_against_recv);
  run.check("channel: send against close", 1, send_against_close);
  run.check("channel: send against a stop request", 1, send_against_stop);
  return run.finish();
}
