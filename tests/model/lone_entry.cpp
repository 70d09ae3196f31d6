// tests/model/lone_entry.cpp -- a pool thread's single entry: several threads may take it, exactly one does.
// SPDX-License-Identifier: MIT
#include "../../src/exec/lone_entry.hpp"

#include "framework/model_test.hpp"

namespace {
using coracle::resumption;
using coracle::detail::lone_entry;
using namespace coracle_test;
namespace orders = coracle::detail;

struct entry : resumption {
  orders::plain<int> data = 0;
  orders::atomic<int> taken{0};
};
bool put(lone_entry& place, entry& one, int data) {
  one.data = data;
  return place.put(one);
}
/// The owner may read `data` again, once this records that the entry is taken.
bool note(resumption* taken, int data) {
  auto* const one = static_cast<entry*>(taken);
  if (!one) return false;
  model_expect(one->data == data, "with what was written before");
  one->taken.fetch_add(1, orders::memory_order_release);
  return true;
}
int times_taken(entry& one) { return one.taken.load(orders::memory_order_acquire); }

void owner_against_thief() {
  lone_entry place;
  entry one;
  model_thread thief{[&] { note(place.steal(), 1); }};
  model_expect(put(place, one, 1), "there is room");
  const bool mine = note(place.take(), 1);
  thief.join();
  model_expect(times_taken(one) == 1, "taken once");
  model_expect(place.is_empty() && !place.take(), "and not again");
  coracle::testing::model_record(mine ? "owner" : "thief");
}
/// The same entry is put in again, at the same address, as soon as it was taken, as a coroutine's entry is.
void same_entry_again() {
  lone_entry place;
  entry one;
  model_thread thief{[&] { note(place.steal(), 1); }};
  model_expect(put(place, one, 1), "there is room");
  bool again = false;
  if (note(place.take(), 1)) again = place.put(one);
  const bool mine_again = again && note(place.take(), 1);
  thief.join();
  model_expect(times_taken(one) == 1 + again, "taken as often as it was put in");
  model_expect(place.is_empty() && !place.take(), "and not again");
  coracle::testing::model_record(!again ? "thief" : mine_again ? "owner twice" : "owner, thief");
}
/// The same while two threads ask, one of them in vain.
template <int Turns>
void owner_against_two_thieves() {
  lone_entry place;
  entry all[Turns];
  int stolen[2] = {0, 0};
  const auto steal = [&](int& count) {
    for (int i = 0; i != Turns; ++i) count += note(place.steal(), 42);
  };
  model_thread one{[&] { steal(stolen[0]); }}, two{[&] { steal(stolen[1]); }};
  int put_in = 0, mine = 0;
  for (entry& each : all) {
    if (!put(place, each, 42)) continue;
    ++put_in;
    mine += note(place.take(), 42);
  }
  one.join();
  two.join();
  for (entry& each : all) model_expect(times_taken(each) <= 1, "none is taken twice");
  model_expect(mine + stolen[0] + stolen[1] == put_in, "none is lost");
}
/// Another thread has closed it, here for one turn, and the owner continues; the owner of an entry must still
/// be visible.
template <bool AsksAnother>
void shut_by_a_thief() {
  lone_entry place;
  entry all[3];
  int stolen = 0;
  const auto shut = [&] { place.shut(); };
  const auto steal = [&] { stolen += note(place.steal(), 42); };
  int put_in = 0, mine = 0, refused = 0;
  const auto run_owner = [&] {
    for (entry& each : all) {
      if (!put(place, each, 42)) {
        ++refused;
        model_expect(!place.take(), "nothing is in what is shut");
        continue;
      }
      ++put_in;
      mine += note(place.take(), 42);
    }
  };
  if constexpr (AsksAnother) {
    model_thread one{shut}, two{steal};
    run_owner();
    one.join();
    two.join();
  } else {
    model_thread thief{[&] {
      shut();
      steal();
    }};
    run_owner();
    thief.join();
  }
  for (entry& each : all) model_expect(times_taken(each) <= 1, "none is taken twice");
  model_expect(mine + stolen == put_in, "none is lost");
  entry again;
  for (int i = 0; i != 2; ++i) {
    while (place.is_shut()) model_expect(!place.take(), "nothing is left");
    model_expect(put(place, again, 42) && place.take() == &again, "it is open in the end");
  }
  model_expect(!place.is_shut(), "and was shut once");
  if constexpr (!AsksAnother) coracle::testing::model_record(refused != 0 ? "was shut" : "was not");
}
/// A thread that asks while it is opened again does not stay registered: no other thread could then take the
/// next entry.
void opened_while_one_asks() {
  lone_entry place;
  entry first, second;
  place.shut();
  model_expect(put(place, first, 42), "there is room");
  model_thread thief{[&] { note(place.steal(), 42); }};
  const bool mine = note(place.take(), 42);
  model_expect(place.is_shut() && !place.take(), "opened");
  model_expect(put(place, second, 42), "there is room");
  thief.join();
  note(place.steal(), 42);
  model_expect(times_taken(first) == 1 && times_taken(second) == 1, "each taken by one of them");
  coracle::testing::model_record(mine ? "owner" : "thief");
}
/// A thread about to sleep looks after a heavy fence; a thread that has put an entry in looks for sleepers
/// after a light one. A stolen entry stays in its place until the owner comes; that must not hide the next
/// entry put there.
void seen_or_woken() {
  lone_entry place;
  entry one, other;
  orders::atomic<bool> sleeps{false};
  const orders::asymmetric_fence fence;
  const resumption* stolen = nullptr;
  bool seen = false;
  model_thread sleeper{[&] {
    stolen = place.steal();
    sleeps.store(true, orders::memory_order_relaxed);
    fence.heavy();
    seen = !place.is_empty();
  }};
  place.put(one);
  place.take();
  place.put(other);
  fence.light();
  const bool wakes = sleeps.load(orders::memory_order_relaxed);
  sleeper.join();
  model_expect(seen || wakes || stolen == &other, "one of them knows of the other");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.outcomes("lone_entry: owner against a thief", {"owner", "thief"}, owner_against_thief);
  run.outcomes("lone_entry: the same entry again", {"owner twice", "owner, thief", "thief"},
               same_entry_again);
  run.check("lone_entry: owner against two thieves, one entry", model_test::all,
            owner_against_two_thieves<1>);
  run.check("lone_entry: owner against two thieves, two entries", 3, owner_against_two_thieves<2>);
  run.outcomes("lone_entry: shut by a thief who then asks", {"was not", "was shut"}, shut_by_a_thief<false>);
  run.check("lone_entry: shut by one while another asks", 3, shut_by_a_thief<true>);
  run.outcomes("lone_entry: opened while one asks", {"owner", "thief"}, opened_while_one_asks);
  run.check("lone_entry: seen by who sleeps, or he is seen", model_test::all, seen_or_woken);
  return run.finish();
}
