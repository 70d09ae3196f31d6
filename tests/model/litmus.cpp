// tests/model/litmus.cpp -- the checker itself: what C++'s memory model allows, all of it, and nothing else.
// SPDX-License-Identifier: MIT
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <memory>

#include "framework/model_test.hpp"

namespace {
using namespace coracle_test;
using order = std::memory_order;
using word = coracle::detail::atomic<int>;
using plain = coracle::detail::plain<int>;

void fence(order strength) {
  coracle::testing::model::model_fence(strength, std::source_location::current());
}
void record(std::initializer_list<int> values) {
  std::string text;
  for (const int each : values) text += std::to_string(each);
  coracle::testing::model_record(text);
}

/// Each of two threads stores to one word and loads the other.
void store_buffering(order store, order load, bool fences) {
  word x{0}, y{0};
  int a = 0, b = 0;
  model_thread first{[&] {
    x.store(1, store);
    if (fences) fence(order::seq_cst);
    a = y.load(load);
  }};
  model_thread second{[&] {
    y.store(1, store);
    if (fences) fence(order::seq_cst);
    b = x.load(load);
  }};
  first.join();
  second.join();
  record({a, b});
}
void message_passing(order store, order load) {
  word data{0}, flag{0};
  model_thread sender{[&] {
    data.store(1, order::relaxed);
    flag.store(1, store);
  }};
  const int seen = flag.load(load), value = data.load(order::relaxed);
  sender.join();
  record({seen, value});
}
void message_passing_by_fences() {
  word data{0}, flag{0};
  model_thread sender{[&] {
    data.store(1, order::relaxed);
    fence(order::release);
    flag.store(1, order::relaxed);
  }};
  const int seen = flag.load(order::relaxed);
  fence(order::acquire);
  const int value = data.load(order::relaxed);
  sender.join();
  record({seen, value});
}
/// Two writers of two words, two readers that look at them in opposite orders.
void independent_reads(order store, order load) {
  word x{0}, y{0};
  int a = 0, b = 0, c = 0, d = 0;
  model_thread first{[&] { x.store(1, store); }};
  model_thread second{[&] { y.store(1, store); }};
  model_thread third{[&] {
    a = x.load(load);
    b = y.load(load);
  }};
  c = y.load(load);
  d = x.load(load);
  first.join();
  second.join();
  third.join();
  record({a == 1 && b == 0 && c == 1 && d == 0});
}
void read_read_coherence() {
  word x{0};
  model_thread writer{[&] {
    x.store(1, order::relaxed);
    x.store(2, order::relaxed);
  }};
  const int a = x.load(order::relaxed), b = x.load(order::relaxed);
  writer.join();
  record({a, b});
}
void two_plus_two_writes() {
  word x{0}, y{0};
  model_thread first{[&] {
    x.store(1, order::relaxed);
    y.store(2, order::relaxed);
  }};
  model_thread second{[&] {
    y.store(1, order::relaxed);
    x.store(2, order::relaxed);
  }};
  first.join();
  second.join();
  record({x.load(order::relaxed), y.load(order::relaxed)});
}
/// A read-modify-write by a third thread does not break the release sequence that it continues.
void release_sequence(order change) {
  word data{0}, flag{0};
  model_thread sender{[&] {
    data.store(1, order::relaxed);
    flag.store(1, order::release);
  }};
  model_thread changer{[&] {
    int expected = 1;
    flag.compare_exchange_strong(expected, 2, change);
  }};
  const int seen = flag.load(order::acquire), value = data.load(order::relaxed);
  sender.join();
  changer.join();
  record({seen, value});
}
void load_buffering() {
  word x{0}, y{0};
  int a = 0;
  model_thread other{[&] {
    a = x.load(order::relaxed);
    y.store(1, order::relaxed);
  }};
  const int b = y.load(order::relaxed);
  x.store(1, order::relaxed);
  other.join();
  record({a, b});
}

/// An asymmetric fence: free on one side; on the other, a fence on every thread.
void store_buffering_asymmetric() {
  word x{0}, y{0};
  int a = 0, b = 0;
  model_thread first{[&] {
    x.store(1, order::relaxed);
    a = y.load(order::relaxed);
  }};
  y.store(1, order::relaxed);
  coracle::testing::model::model_fence_everywhere(std::source_location::current());
  b = x.load(order::relaxed);
  first.join();
  record({a, b});
}

/// One thread writes x, a second sees it and writes y, a third sees y: must the third see x?
void write_to_read_causality(order store, order load) {
  word x{0}, y{0};
  int a = 0, b = 0, c = 0;
  model_thread first{[&] { x.store(1, store); }};
  model_thread second{[&] {
    a = x.load(load);
    y.store(1, store);
  }};
  b = y.load(load);
  c = x.load(order::relaxed);
  first.join();
  second.join();
  record({a, b, c});
}
/// The same through two flags.
void two_hops(order store, order load) {
  word x{0}, y{0}, z{0};
  int a = 0, b = 0, c = 0;
  model_thread first{[&] {
    x.store(1, order::relaxed);
    y.store(1, store);
  }};
  model_thread second{[&] {
    a = y.load(load);
    z.store(1, store);
  }};
  b = z.load(load);
  c = x.load(order::relaxed);
  first.join();
  second.join();
  record({a, b, c});
}
void write_read_coherence() {
  word x{0};
  model_thread other{[&] { x.store(2, order::relaxed); }};
  x.store(1, order::relaxed);
  const int a = x.load(order::relaxed);
  other.join();
  record({a, x.load(order::relaxed)});
}
void read_write_coherence() {
  word x{0};
  model_thread other{[&] { x.store(2, order::relaxed); }};
  const int a = x.load(order::relaxed);
  x.store(1, order::relaxed);
  other.join();
  record({a, x.load(order::relaxed)});
}
/// Two readers agree on the order of two stores to one word.
void two_readers_of_one_word() {
  word x{0};
  int a = 0, b = 0;
  model_thread first{[&] { x.store(1, order::relaxed); }};
  model_thread second{[&] { x.store(2, order::relaxed); }};
  model_thread third{[&] {
    a = x.load(order::relaxed);
    b = x.load(order::relaxed);
  }};
  const int c = x.load(order::relaxed), d = x.load(order::relaxed);
  first.join();
  second.join();
  third.join();
  record({a == 1 && b == 2 && c == 2 && d == 1});
}
void independent_reads_with_fences(order strength) {
  word x{0}, y{0};
  int a = 0, b = 0;
  model_thread first{[&] { x.store(1, order::relaxed); }};
  model_thread second{[&] { y.store(1, order::relaxed); }};
  model_thread third{[&] {
    a = x.load(order::relaxed);
    fence(strength);
    b = y.load(order::relaxed);
  }};
  const int c = y.load(order::relaxed);
  fence(strength);
  const int d = x.load(order::relaxed);
  first.join();
  second.join();
  third.join();
  record({a == 1 && b == 0 && c == 1 && d == 0});
}
/// Which store is the last, and whether its writer has seen the other's first store.
void store_then_store_or_load(bool fences) {
  word x{0}, y{0};
  model_thread other{[&] {
    x.store(1, order::relaxed);
    if (fences) fence(order::seq_cst);
    y.store(1, order::relaxed);
  }};
  y.store(2, order::relaxed);
  if (fences) fence(order::seq_cst);
  const int a = x.load(order::relaxed);
  other.join();
  record({a, y.load(order::relaxed)});
}
/// Since C++20, a later store by the same thread does not continue its release sequence.
void store_ends_release_sequence() {
  word data{0}, flag{0};
  model_thread sender{[&] {
    data.store(1, order::relaxed);
    flag.store(1, order::release);
    flag.store(2, order::relaxed);
  }};
  const int seen = flag.load(order::acquire), value = data.load(order::relaxed);
  sender.join();
  record({seen, value});
}
/// A fence on one side, seq_cst accesses on the other.
void store_buffering_fence_against_accesses(order store, order load) {
  word x{0}, y{0};
  int a = 0;
  model_thread other{[&] {
    x.store(1, order::relaxed);
    fence(order::seq_cst);
    a = y.load(order::relaxed);
  }};
  y.store(1, store);
  const int b = x.load(load);
  other.join();
  record({a, b});
}
/// A strong compare_exchange that fails is a load, possibly of an old value.
void failed_change_sees_old_value() {
  word data{0}, flag{0};
  model_thread sender{[&] {
    data.store(1, order::relaxed);
    flag.store(1, order::relaxed);
  }};
  const int seen = flag.load(order::relaxed);
  int found = 5;
  data.compare_exchange_strong(found, 6, order::relaxed);
  sender.join();
  record({seen, found});
}

/// A compare_exchange that fails is a load with its failure order, whatever its success order is.
void store_buffering_by_failed_changes(order success, order failure) {
  word x{0}, y{0};
  int a = 7, b = 7;
  model_thread other{[&] {
    x.store(1, order::seq_cst);
    y.compare_exchange_strong(a, 9, success, failure);
  }};
  y.store(1, order::seq_cst);
  x.compare_exchange_strong(b, 9, success, failure);
  other.join();
  record({a, b});
}
/// A compare_exchange that passes a message on although it fails.
void message_passing_to_failed_change(order success, order failure) {
  word data{0}, flag{0};
  model_thread sender{[&] {
    data.store(1, order::relaxed);
    flag.store(1, order::release);
  }};
  int seen = 7;
  flag.compare_exchange_strong(seen, 9, success, failure);
  const int value = data.load(order::relaxed);
  sender.join();
  record({seen, value});
}

void failed_changes(model_test& run) {
  const std::set<std::string> any{"00", "01", "10", "11"};
  run.outcomes("store buffering, changes that fail, seq_cst or relaxed", any,
               [] { store_buffering_by_failed_changes(order::seq_cst, order::relaxed); });
  run.outcomes("store buffering, changes that fail, seq_cst or acquire", any,
               [] { store_buffering_by_failed_changes(order::seq_cst, order::acquire); });
  run.outcomes("store buffering, changes that fail, relaxed or seq_cst", {"01", "10", "11"},
               [] { store_buffering_by_failed_changes(order::relaxed, order::seq_cst); });
  run.outcomes("message passing, a change that fails, acq_rel or relaxed", any,
               [] { message_passing_to_failed_change(order::acq_rel, order::relaxed); });
  run.outcomes("message passing, a change that fails, relaxed or acquire", {"00", "01", "11"},
               [] { message_passing_to_failed_change(order::relaxed, order::acquire); });
}
void more_outcome_sets(model_test& run) {
  const std::set<std::string> causal{"000", "001", "010", "011", "100", "101", "111"};
  std::set<std::string> any = causal;
  any.insert("110");
  run.outcomes("write to read causality, release and acquire", causal,
               [] { write_to_read_causality(order::release, order::acquire); });
  run.outcomes("write to read causality, relaxed", any,
               [] { write_to_read_causality(order::relaxed, order::relaxed); });
  run.outcomes("two hops, release and acquire", causal, [] { two_hops(order::release, order::acquire); });
  run.outcomes("two hops, relaxed", any, [] { two_hops(order::relaxed, order::relaxed); });
  run.outcomes("two hops, only acquire", any, [] { two_hops(order::relaxed, order::acquire); });
  run.outcomes("write-read coherence", {"11", "12", "22"}, write_read_coherence);
  run.outcomes("read-write coherence", {"01", "02", "21"}, read_write_coherence);
  run.outcomes("two readers of one word", {"0"}, two_readers_of_one_word);
  run.outcomes("independent reads, seq_cst fences", {"0"},
               [] { independent_reads_with_fences(order::seq_cst); });
  run.outcomes("independent reads, acquire fences", {"0", "1"},
               [] { independent_reads_with_fences(order::acquire); });
  run.outcomes("store and store, store and load, relaxed", {"01", "02", "11", "12"},
               [] { store_then_store_or_load(false); });
  run.outcomes("store and store, store and load, seq_cst fences", {"01", "11", "12"},
               [] { store_then_store_or_load(true); });
  run.outcomes("a store ends the release sequence", {"00", "01", "11", "20", "21"},
               store_ends_release_sequence);
  run.outcomes("store buffering, a fence against seq_cst", {"01", "10", "11"},
               [] { store_buffering_fence_against_accesses(order::seq_cst, order::seq_cst); });
  run.outcomes("store buffering, a fence against release and acquire", {"00", "01", "10", "11"},
               [] { store_buffering_fence_against_accesses(order::release, order::acquire); });
  run.outcomes("store buffering, seq_cst stores only", {"00", "01", "10", "11"},
               [] { store_buffering(order::seq_cst, order::acquire, false); });
  run.outcomes("store buffering, seq_cst loads only", {"00", "01", "10", "11"},
               [] { store_buffering(order::release, order::seq_cst, false); });
  run.outcomes("independent reads, only the loads seq_cst", {"0"},
               [] { independent_reads(order::release, order::seq_cst); });
  run.outcomes("a change that fails sees an old value", {"00", "01", "10", "11"},
               failed_change_sees_old_value);
}
void outcome_sets(model_test& run) {
  run.outcomes("store buffering, a fence of every thread", {"01", "10", "11"}, store_buffering_asymmetric);
  run.outcomes("store buffering, relaxed", {"00", "01", "10", "11"},
               [] { store_buffering(order::relaxed, order::relaxed, false); });
  run.outcomes("store buffering, release and acquire", {"00", "01", "10", "11"},
               [] { store_buffering(order::release, order::acquire, false); });
  run.outcomes("store buffering, seq_cst", {"01", "10", "11"},
               [] { store_buffering(order::seq_cst, order::seq_cst, false); });
  run.outcomes("store buffering, seq_cst fences", {"01", "10", "11"},
               [] { store_buffering(order::relaxed, order::relaxed, true); });
  run.outcomes("message passing, relaxed", {"00", "01", "10", "11"},
               [] { message_passing(order::relaxed, order::relaxed); });
  run.outcomes("message passing, only release", {"00", "01", "10", "11"},
               [] { message_passing(order::release, order::relaxed); });
  run.outcomes("message passing, release and acquire", {"00", "01", "11"},
               [] { message_passing(order::release, order::acquire); });
  run.outcomes("message passing, fences", {"00", "01", "11"}, message_passing_by_fences);
  run.outcomes("independent reads, release and acquire", {"0", "1"},
               [] { independent_reads(order::release, order::acquire); });
  run.outcomes("independent reads, seq_cst", {"0"},
               [] { independent_reads(order::seq_cst, order::seq_cst); });
  run.outcomes("read-read coherence", {"00", "01", "02", "11", "12", "22"}, read_read_coherence);
  // C++ allows 11 as well: stores to a word are ordered as they are executed, a stated limit.
  run.outcomes("two words, two writes each", {"12", "21", "22"}, two_plus_two_writes);
  run.outcomes("release sequence, relaxed change", {"00", "01", "11", "21"},
               [] { release_sequence(order::relaxed); });
  // C++ allows 11, too. No load sees a store that has not been made yet: a stated limit.
  run.outcomes("load buffering, without its out-of-thin-air end", {"00", "01", "10"}, load_buffering);
}

void findings(model_test& run) {
  run.finds("a plain field that nothing orders", "data race", model_test::all, [] {
    plain data{0};
    word flag{0};
    model_thread other{[&] {
      data = 1;
      flag.store(1, order::relaxed);
    }};
    if (flag.load(order::acquire) == 1) model_expect(data == 1, "the data");
    other.join();
  });
  run.finds("two locks in two orders", "deadlock", model_test::all, [] {
    coracle::detail::atomic<std::uint32_t> locks[2] = {};
    const auto lock = [](coracle::detail::atomic<std::uint32_t>& each) {
      while (each.exchange(1, order::acquire) != 0) coracle::detail::park(each, 1);
    };
    model_thread other{[&] {
      lock(locks[1]);
      lock(locks[0]);
    }};
    lock(locks[0]);
    lock(locks[1]);
    other.join();
  });
  run.finds("a sleeper that nobody wakes", "deadlock", model_test::all, [] {
    coracle::detail::atomic<std::uint32_t> flag{0};
    model_thread other{[&] { flag.store(1, order::release); }};
    if (flag.load(order::acquire) == 0) coracle::detail::park(flag, 0);
    other.join();
  });
  run.finds("a loop that nobody ends", "livelock", 0, [] {
    word flag{0};
    while (flag.load(order::acquire) == 0) coracle::detail::spin_pause();
  });
  run.finds("memory that nobody frees", "leak", model_test::all, [] {
    static int* volatile kept;
    kept = new int(1);
    static_cast<void>(kept);
  });
  run.finds("an expectation", "expected: never 2", model_test::all, [] {
    word count{0};
    const auto add = [&] { count.store(count.load(order::relaxed) + 1, order::relaxed); };
    model_thread other{add};
    add();
    other.join();
    model_expect(count.load(order::relaxed) != 2, "never 2");
  });
}

/// The string of a failure suffices to reproduce it.
void replay(model_test& run) {
  const auto body = [] {
    word x{0};
    model_thread other{[&] { x.store(1, order::relaxed); }};
    model_expect(x.load(order::relaxed) == 0, "never seen");
    other.join();
  };
  const auto found = coracle::testing::model_check(body);
  const auto again = coracle::testing::model_replay(found.replay, body);
  run.check("a failure is found again by its replay string", 0, [found, again] {
    model_expect(!found.passed && !again.passed, "both fail");
    model_expect(found.failure == again.failure && found.schedule == again.schedule, "in the same way");
  });
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  outcome_sets(run);
  more_outcome_sets(run);
  failed_changes(run);
  findings(run);
  replay(run);
  return run.finish();
}
