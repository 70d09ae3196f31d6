// tests/model/choice.cpp -- branches of which exactly one takes effect.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/choice.hpp>

#include "framework/model_test.hpp"

namespace {
using coracle::detail::choice;
using namespace coracle_test;
using meeting = choice::meeting;

/// Each arrives where the other one waits: one of them claims both choices, the other none, without deadlock.
void claim_each_other() {
  choice a, b;
  meeting first = meeting::other_is_lost;
  model_thread other{[&] { first = choice::claim_both(&a, &b); }};
  const meeting second = choice::claim_both(&b, &a);
  other.join();
  model_expect((first == meeting::both) != (second == meeting::both), "one of them has claimed both");
  model_expect(a.is_claimed() && b.is_claimed(), "both are claimed");
}
/// A third thread claims one of the two choices meanwhile: the other choice then stays unclaimed.
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
/// Four in a circle: one pair, or two disjoint pairs.
void four_in_a_circle() {
  choice a, b, c, d;
  meeting met[4] = {};
  model_thread first{[&] { met[0] = choice::claim_both(&a, &b); }};
  model_thread second{[&] { met[1] = choice::claim_both(&b, &c); }};
  model_thread third{[&] { met[2] = choice::claim_both(&c, &d); }};
  met[3] = choice::claim_both(&d, &a);
  first.join();
  second.join();
  third.join();
  const auto both = [&met](int i) { return met[i % 4] == meeting::both; };
  int pairs = 0;
  for (int i = 0; i != 4; ++i) {
    pairs += both(i);
    model_expect(!(both(i) && both(i + 1)), "nobody is in two pairs");
  }
  model_expect(pairs != 0, "and not all give up");
  model_expect(a.is_claimed() + b.is_claimed() + c.is_claimed() + d.is_claimed() == 2 * pairs,
               "who is in no pair is open");
}
/// A choice is held, then settled or released. Nobody else can claim it while it is held; after a release,
/// anybody can.
void hold_against_claim(bool carries_out) {
  choice a;
  bool held = false, claimed = false;
  model_thread other{[&] { claimed = a.claim(); }};
  held = a.hold();
  if (held) a.settle(carries_out);
  other.join();
  model_expect(carries_out ? held != claimed : claimed, "it is claimed once");
  model_expect(a.is_claimed(), "and stays claimed");
}
/// Two branches hold the choice one after the other, or see that it is lost.
void two_holds() {
  choice a;
  model_thread other{[&] {
    if (a.hold()) a.settle(false);
  }};
  const bool held = a.hold();
  if (held) a.settle(true);
  other.join();
  model_expect(held && a.is_claimed(), "who carries it out has it");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("choice: two claim each other", model_test::all, claim_each_other);
  run.check("choice: two together, against one of them", model_test::all, claim_two_against_one);
  run.check("choice: two together, against the other", model_test::all, claim_two_against_other);
  run.check("choice: three in a circle", 4, claim_in_a_circle);
  run.check("choice: four in a circle", 3, four_in_a_circle);
  run.check("choice: hold and carry out, against a claim", run.all, [] { hold_against_claim(true); });
  run.check("choice: hold and let go, against a claim", run.all, [] { hold_against_claim(false); });
  run.check("choice: two hold it", run.all, two_holds);
  return run.finish();
}
