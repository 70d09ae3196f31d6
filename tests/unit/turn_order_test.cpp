// tests/unit/turn_order_test.cpp -- which kind of work a pool's thread takes next.
// SPDX-License-Identifier: MIT
#include "../../src/exec/turn_order.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace {
using coracle::detail::turn_order;
using kind = turn_order::kind;

/// A thread with a given amount of work of each kind, and a given length of their turns.
struct busy_thread {
  turn_order order;
  std::map<kind, int> waiting;
  std::uint64_t turn_length = 1;
  std::uint64_t now = 1;
  kind ended = kind::stack;
  bool continues = false;

  /// Returns the first letter of the kind, or '-' if no work was found.
  char turn() {
    const turn_order::observation seen{.now = now,
                                       .high_waits = waiting[kind::high] != 0,
                                       .low_waits = waiting[kind::low] != 0,
                                       .ended = ended,
                                       .continues = continues};
    now += turn_length;
    const char found = order.next(seen, [&](kind which) {
      if (waiting[which] == 0) return '\0';
      --waiting[which];
      ended = which;
      return "sqnlh"[static_cast<int>(which)];
    });
    return found == '\0' ? '-' : found;
  }
  /// Takes the fast path of a thread that has only this kind of work.
  void turn_without_order(kind which) {
    --waiting[which];
    ended = which;
    now += turn_length;
  }
  std::string turns(int count) {
    std::string all;
    for (int i = 0; i != count; ++i) all += turn();
    return all;
  }
};
constexpr int plenty = 1'000'000;

TEST_CASE("turn_order: two kinds with short turns each keep the thread for a slice") {
  busy_thread thread{.order = {}, .waiting = {{kind::stack, plenty}, {kind::queue, plenty}}};
  thread.turn_length = turn_order::slice / 4;
  CHECK(thread.turns(16) == "qqqqssssqqqqssss");
}
TEST_CASE(
    "turn_order: kinds whose turns are longer than a slice alternate, so a post waits for one turn of each") {
  busy_thread thread{.order = {}, .waiting = {{kind::queue, plenty}, {kind::normal, plenty}}};
  thread.turn_length = turn_order::slice * 5;
  CHECK(thread.turns(6) == "qnqnqn");
}
TEST_CASE("turn_order: a single post from outside comes first after a long turn") {
  busy_thread thread{.order = {}, .waiting = {{kind::queue, plenty}}};
  thread.turn_length = turn_order::slice * 5;
  CHECK(thread.turns(3) == "qqq");
  thread.waiting[kind::normal] = 1;
  CHECK(thread.turns(3) == "nqq");
}
TEST_CASE(
    "turn_order: posts that come one by one to a thread that is busy with one kind each wait for one turn") {
  for (const kind own : {kind::stack, kind::queue}) {
    busy_thread thread{.order = {}, .waiting = {{own, plenty}}};
    thread.turn_length = turn_order::slice * 5;
    thread.turn();
    for (int post = 0; post != 3; ++post) {
      thread.waiting[kind::normal] = 1;
      CHECK(thread.turn() == 'n');
      for (int turn = 0; turn != 4; ++turn) thread.turn_without_order(own);
    }
  }
}
TEST_CASE(
    "turn_order: a post from outside waits for the end of a slice of short turns, and then gets one turn") {
  busy_thread thread{.order = {}, .waiting = {{kind::stack, plenty}, {kind::normal, plenty}}};
  thread.turn_length = turn_order::slice / 2;
  CHECK(thread.turns(7) == "nssnssn");
}
TEST_CASE("turn_order: high priority goes first, but for one turn in 20") {
  busy_thread thread{.order = {}, .waiting = {{kind::queue, plenty}, {kind::high, plenty}}};
  CHECK(thread.turns(19) == std::string(19, 'h'));
  CHECK(thread.turns(2) == "qh");
}
TEST_CASE(
    "turn_order: low priority gets one round in 32, and is left to the search where nothing else waits") {
  busy_thread thread{.order = {}, .waiting = {{kind::queue, plenty}, {kind::low, plenty}}};
  thread.turn_length = turn_order::slice;
  for (int round = 0; round != 2; ++round) {
    CHECK(thread.turns(31) == std::string(31, 'q'));
    CHECK(thread.turn() == 'l');
  }
  thread.waiting[kind::queue] = 0;
  CHECK(thread.turn() == '-');
}
TEST_CASE("turn_order: what a turn has forked goes on within the slice, before others of the same kind") {
  busy_thread thread{.order = {}, .waiting = {{kind::stack, plenty}, {kind::queue, plenty}}};
  thread.turn_length = turn_order::slice / 4;
  CHECK(thread.turns(1) == "q");
  thread.continues = true;
  CHECK(thread.turns(3) == "sss");
  CHECK(thread.turns(1) == "s");  // the slice of the stack
}
TEST_CASE("turn_order: high priority is found also where it was not seen to wait") {
  busy_thread thread{.order = {}, .waiting = {{kind::high, 1}}};
  const auto found = thread.order.next({1, false, false, kind::stack, false},
                                       [&](kind which) { return which == kind::high ? 'h' : '\0'; });
  CHECK(found == 'h');
}

using coracle::detail::stack_aging;
TEST_CASE("stack_aging: one entry is due in each interval, however many turns there are") {
  stack_aging aging;
  std::uint64_t now = stack_aging::interval;
  constexpr std::uint64_t turn = stack_aging::interval / (16 * stack_aging::turns_between_checks);
  int due = 0;
  for (unsigned i = 0; i != 10 * 16 * stack_aging::turns_between_checks; ++i, now += turn) {
    if (aging.count_turn() && aging.is_due(now)) ++due;
  }
  CHECK(due == 10);
}
TEST_CASE("stack_aging: where turns are long the clock is read once in so many") {
  stack_aging aging;
  std::uint64_t now = stack_aging::interval;
  int due = 0;
  for (unsigned i = 0; i != 10 * stack_aging::turns_between_checks; ++i, now += stack_aging::interval) {
    if (aging.count_turn() && aging.is_due(now)) ++due;
  }
  CHECK(due == 10);
}
}  // namespace
