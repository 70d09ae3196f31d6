// tests/model/checker.cpp -- the checker finds each kind of mistake, shows where it is, and comes back to it.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <coracle/detail/intrusive_list.hpp>
#include <coracle/detail/park.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "model_waits.hpp"

namespace {
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using order = std::memory_order;
using word = coracle::detail::atomic<int>;

struct linked {
  coracle::detail::plain<linked*> next;
  coracle::detail::plain<coracle::detail::plain<linked*>*> link;
};

void races(model_test& run) {
  run.finds("a pointer that nothing orders", "data race", model_test::all, [] {
    coracle::resumption first, second;
    model_thread other{[&] { first.next = &second; }};
    first.next = nullptr;
    other.join();
  });
  run.finds("a coroutine handle that nothing orders", "data race", model_test::all, [] {
    coracle::resumption entry;
    word ready{0};
    model_thread other{[&] {
      entry.handle = std::noop_coroutine();
      ready.store(1, order::relaxed);
    }};
    if (ready.load(order::acquire) == 1) coracle::resume(entry.handle);
    other.join();
  });
  run.finds("a list without a lock", "data race", model_test::all, [] {
    coracle::detail::intrusive_list<linked> list;
    linked first, second;
    model_thread other{[&] { list.push(first); }};
    list.push(second);
    other.join();
  });
}

void ends_of_atomics(model_test& run) {
  run.finds("the last reference is dropped without acquire", "the end of", model_test::all, [] {
    auto* const references = new word{2};
    const auto drop = [references] {
      if (references->fetch_sub(1, order::release) == 1) delete references;
    };
    model_thread other{drop};
    drop();
    other.join();
  });
  run.check("the last reference is dropped with acquire", model_test::all, [] {
    auto* const references = new word{2};
    const auto drop = [references] {
      if (references->fetch_sub(1, order::acq_rel) == 1) delete references;
    };
    model_thread other{drop};
    drop();
    other.join();
  });
  run.finds("an atomic is used after its end", "after its end", model_test::all, [] {
    std::optional<word> value{std::in_place, 1};
    word& kept = *value;
    model_thread other{[&] { value.reset(); }};
    other.join();
    static_cast<void>(kept.load(order::relaxed));
  });
}

void memory(model_test& run) {
  run.finds("memory is freed twice", "double free", model_test::all, [] {
    const auto drop = [](int* shared) { delete shared; };
    auto* const shared = new int{1};
    model_thread other{[=] { drop(shared); }};
    drop(shared);
    other.join();
  });
  run.finds("memory is freed that is no block", "free of memory that", model_test::all, [] {
    alignas(64) std::array<std::byte, 256> storage{};
    std::byte* volatile inside = &storage[128];
    ::operator delete(inside);
  });
#if !CORACLE_ADDRESS_SANITIZER()  // that ends the program, with its own report
  run.finds("memory is not freed", "leak", model_test::all, [] { static_cast<void>(*new word{1}); });
  run.finds("an atomic in freed memory", "use after free", model_test::all, [] {
    auto* const shared = new word{1};
    model_thread other{[=] { static_cast<void>(shared->load(order::relaxed)); }};
    shared->store(2, order::relaxed);
    delete shared;
    other.join();
  });
  run.finds("a plain field in freed memory", "use after free", model_test::all, [] {
    linked* volatile shared = new linked;
    delete shared;
    shared->next = nullptr;
  });
  run.finds("what no atomic is in freed memory", "use after free", model_test::all, [] {
    volatile int* volatile shared = new int{1};
    delete shared;
    *shared = 2;
  });
  run.finds("a coroutine goes on after its end", "crash", model_test::all, [] {
    std::coroutine_handle<> kept;
    [](std::coroutine_handle<>& where) -> coracle_test::detached {
      co_await coracle_test::hand_out(where);
    }(kept);
    model_thread other{[=] { kept.resume(); }};
    kept.resume();
    other.join();
  });
#endif
  run.check("an address may come back", model_test::all, [] {
    void* volatile first = ::operator new(40);
    ::operator delete(first);
    void* volatile second = ::operator new(40);
    model_expect(CORACLE_ADDRESS_SANITIZER() || first == second, "as it does without the checker");
    ::operator delete(second);
  });
}
using coracle::testing::model_check;
using coracle::testing::model_replay;

/// A wake-up that is lost if the sleeper looks, is interrupted, and then sleeps.
void lost_wake_up() {
  coracle::detail::atomic<std::uint32_t> flag{0}, sleeps{0};
  model_thread waker{[&] {
    flag.store(1, order::seq_cst);
    if (sleeps.load(order::seq_cst) == 1) coracle::detail::unpark(&sleeps, 1);
  }};
  if (flag.load(order::seq_cst) == 0) {
    sleeps.store(1, order::seq_cst);
    coracle::detail::park(sleeps, 1);
  }
  waker.join();
}
void livelock(model_test& run) {
  run.finds("a lost wake-up", "deadlock", model_test::all, lost_wake_up);
  run.finds("a lost wake-up, with one interruption", "deadlock", 1, lost_wake_up);
  run.finds("a store that wakes nobody", "deadlock", model_test::all, [] {
    coracle::detail::atomic<std::uint32_t> flag{0};
    model_thread sleeper{[&] { coracle::detail::park(flag, 0); }};
    flag.store(1, order::seq_cst);
    sleeper.join();
  });
  run.finds("a store by another that wakes nobody", "deadlock", model_test::all, [] {
    coracle::detail::atomic<std::uint32_t> flag{0};
    model_thread other{[&] { flag.store(1, order::seq_cst); }};
    coracle::detail::park(flag, 0);
    other.join();
  });
  run.finds("two that make room for each other", "livelock", model_test::all, [] {
    word turn{0};
    const auto give_way = [&](int mine) {
      while (true) turn.store(mine + turn.load(order::relaxed), order::relaxed);
    };
    model_thread other{[&] { give_way(1); }};
    give_way(2);
  });
}

/// A failure is told in the same way again by its string alone, and the schedule names the lines.
void replays(model_test& run) {
  for (const unsigned bound : {model_test::all, 1U}) {
    coracle_test::model_limits limits;
    limits.preemptions = bound;
    const auto found = model_check(limits, lost_wake_up);
    const auto again = model_replay(found.replay, lost_wake_up, limits);
    const bool same =
        !found.passed && !again.passed && found.failure == again.failure && found.schedule == again.schedule;
    const bool named = found.schedule.find("sleeps on sleeps  checker.cpp:") != std::string::npos &&
                       found.schedule.find("store flag = 1 seq_cst  checker.cpp:") != std::string::npos;
    run.check("its replay is the same, its schedule shows it", 0, [=] {
      model_expect(same, "the same failure");
      model_expect(named, "the sleeper and the store are named");
    });
  }
}
/// What needs three interruptions in the right places is found at random; the same seed does the same.
void random_runs(model_test& run) {
  coracle_test::model_limits limits;
  limits.random_seed = 7;
  limits.executions = 2000;
  const auto found = model_check(limits, lost_wake_up);
  const auto again = model_check(limits, lost_wake_up);
  const auto replayed = model_replay(found.replay, lost_wake_up, limits);
  const bool same_run = !found.passed && found.executions == again.executions;
  const bool same_way = found.schedule == again.schedule && found.schedule == replayed.schedule;
  run.check("random runs find it, each time the same", 0, [=] {
    model_expect(same_run, "by the same run");
    model_expect(same_way, "in the same way");
  });
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  races(run);
  ends_of_atomics(run);
  memory(run);
  livelock(run);
  replays(run);
  random_runs(run);
  return run.finish();
}
