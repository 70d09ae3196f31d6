// tests/model/checker.cpp -- the checker finds each kind of error, shows where it is, and reproduces it.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/base/atomic.hpp>
#include <coracle/base/intrusive_list.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/executor.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

#include "model_waits.hpp"

namespace {
using namespace coracle_test;
using order = std::memory_order;
using word = coracle::detail::atomic<int>;

struct linked {
  coracle::detail::plain<linked*> next;
  coracle::detail::plain<coracle::detail::plain<linked*>*> link;
};

struct two_slots {
  std::array<coracle::detail::plain<int>, 2> slots{};
};

void races(model_test& run) {
  run.finds("an element of an array in a member's initialiser that nothing orders",
            "plain field made at checker.cpp", model_test::all, [] {
              two_slots shared;
              model_thread other{[&] { shared.slots[1] = 1; }};
              shared.slots[1] = 2;
              other.join();
            });
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

/// Two threads share a plain field, and the one that gets the flag ends its lifetime, in one of several ways.
struct handed_over {
  coracle::detail::plain<int> field = 0;
  word flag{0};
  void give(order strength = order::release) { flag.store(1, strength); }
  void wait() const {
    while (flag.load(order::acquire) == 0) coracle::testing::model_yield();
  }
};
template <class Touch>
void touch_against_free(Touch touch) {
  auto owner = std::make_unique<handed_over>();
  model_thread other{[touch, shared = owner.get()] { touch(*shared); }};
  owner->wait();
  owner.reset();
  other.join();
}
/// What a stack does: an object ends, something else overwrites the end of its storage, and another begins.
template <class Object>
void use_storage_again() {
  alignas(Object) std::array<unsigned char, sizeof(Object)> place;
  for (std::size_t kept = 0; kept != sizeof(Object); kept += 8) {
    ::new (static_cast<void*>(place.data())) Object(1);
    auto* volatile bytes = place.data();
    std::launder(reinterpret_cast<Object*>(bytes))->~Object();
    for (std::size_t i = kept; i != sizeof(Object); ++i) bytes[i] = 110;
  }
  std::launder(reinterpret_cast<Object*>(::new (static_cast<void*>(place.data())) Object(2)))->~Object();
}
/// A coroutine with a plain local in its frame.
detached field_in_frame(std::coroutine_handle<>& waits, coracle::detail::plain<int>*& field) {
  coracle::detail::plain<int> local = 0;
  field = &local;
  co_await hand_out(waits);
}
/// Its destructor is never called.
union never_destroyed {
  never_destroyed() : shared() {}
  ~never_destroyed() {}
  handed_over shared;
};

void ends_of_plain_fields(model_test& run) {
  run.check("a plain field is freed behind its last use", model_test::all, [] {
    touch_against_free([](handed_over& shared) {
      shared.field = 5;
      shared.give();
    });
  });
  run.finds("a plain field is freed before it is written", "end of the plain field", model_test::all, [] {
    touch_against_free([](handed_over& shared) {
      shared.give();
      shared.field = 5;
    });
  });
  run.finds("a plain field is freed before it is read", "end of the plain field", model_test::all, [] {
    touch_against_free([](handed_over& shared) {
      shared.give();
      static_cast<void>(static_cast<int>(shared.field));
    });
  });
  run.finds("a plain field is freed behind its last use, which nothing orders", "end of the plain field",
            model_test::all, [] {
              word flag{0};
              auto field = std::make_unique<coracle::detail::plain<int>>(0);
              model_thread other{[&flag, shared = field.get()] {
                *shared = 5;
                flag.store(1, order::relaxed);
              }};
              while (flag.load(order::acquire) == 0) coracle::testing::model_yield();
              field.reset();
              other.join();
            });
  run.finds("a plain field is read in the frame of a coroutine that may end", "end of the plain field",
            model_test::all, [] {
              std::coroutine_handle<> waits;
              coracle::detail::plain<int>* field = nullptr;
              field_in_frame(waits, field);
              word flag{0};
              model_thread other{[&flag, field] {
                flag.store(1, order::release);
                *field = 1;
              }};
              while (flag.load(order::acquire) == 0) coracle::testing::model_yield();
              waits.resume();
              other.join();
            });
  run.finds("a plain field is written after its end", "after its end", model_test::all, [] {
    std::optional<handed_over> place{std::in_place};
    coracle::detail::plain<int>& kept = place->field;
    model_thread other{[&] { place.reset(); }};
    other.join();
    kept = 1;
  });
  run.finds("a plain field ends twice", "after its end", model_test::all, [] {
    using plain = coracle::detail::plain<int>;
    never_destroyed place;
    place.shared.field.~plain();
    place.shared.~handed_over();
  });
  run.finds("a plain field gives way to another, which nothing orders with its use",
            "another object in place", model_test::all, [] {
              never_destroyed place;
              model_thread other{[&] {
                static_cast<void>(static_cast<int>(place.shared.field));
                place.shared.give(order::relaxed);
              }};
              place.shared.wait();
              ::new (static_cast<void*>(&place.shared.field)) coracle::detail::plain<int>(2);
              other.join();
            });
  run.finds("an atomic gives way to another, which nothing orders with its use", "another object in place",
            model_test::all, [] {
              never_destroyed place;
              model_thread other{[&] { place.shared.give(order::relaxed); }};
              place.shared.wait();
              ::new (static_cast<void*>(&place.shared.flag)) word(2);
              other.join();
            });
  run.check("storage is used again, in order", model_test::all, [] {
    never_destroyed place;
    word flag{0};
    model_thread other{[&] {
      place.shared.field = 1;
      flag.store(1, order::release);
    }};
    if (flag.load(order::acquire) == 1) {
      ::new (static_cast<void*>(&place.shared)) handed_over;
      place.shared.field = 2;
      place.shared.~handed_over();
      ::new (static_cast<void*>(&place.shared)) handed_over;
      model_expect(place.shared.field == 0, "a life of its own");
    }
    other.join();
  });
  run.check("storage of a plain field is used again that something else has used in part", model_test::all,
            use_storage_again<coracle::detail::plain<int>>);
  run.check("storage of an atomic is used again that something else has used in part", model_test::all,
            use_storage_again<word>);
#if !CORACLE_ADDRESS_SANITIZER()  // which sees uses of freed memory, and may not be asked what lies in it
  run.finds("a plain field is freed that nobody destroys", "free of the plain field", model_test::all, [] {
    auto* const place = new never_destroyed;
    model_thread other{[place] {
      place->shared.give();
      place->shared.field = 5;
    }};
    place->shared.wait();
    delete place;
    other.join();
  });
  run.finds("an atomic is freed that nobody destroys", "the free of", model_test::all, [] {
    auto* const place = new never_destroyed;
    model_thread other{[place] {
      place->shared.give();
      static_cast<void>(place->shared.flag.load(order::relaxed));
    }};
    place->shared.wait();
    delete place;
    other.join();
  });
  run.finds("a plain field may be freed before it is read, whatever orders them", "use after free",
            model_test::all, [] {
              auto owner = std::make_unique<handed_over>();
              word freed{0};
              model_thread other{[shared = owner.get(), &freed] {
                if (freed.load(order::relaxed) == 1) shared->field = 1;
              }};
              owner.reset();
              freed.store(1, order::relaxed);
              other.join();
            });
  run.finds("a plain field's memory is something else", "where something else is", model_test::all, [] {
    coracle::detail::plain<int>* volatile field = new coracle::detail::plain<int>(1);
    delete field;
    void* const text = ::operator new(sizeof *field);
    std::memset(text, 1, sizeof *field);
    *field = 2;
    ::operator delete(text);
  });
#endif
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
    [](std::coroutine_handle<>& where) -> detached { co_await hand_out(where); }(kept);
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

/// A wake-up that is lost if the sleeper is preempted between its check and its sleep.
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

/// Misuse by new users is reported, so that they need no debugger.
void misuse(model_test& run) {
  run.finds("an exception leaves a thread", "an exception leaves thread 1: no room", model_test::all, [] {
    model_thread other{[] { throw std::runtime_error("no room"); }};
    other.join();
  });
  run.finds("an exception leaves the body, past a thread", "an exception leaves body", model_test::all, [] {
    word value{0};
    model_thread other{[&] { value.store(1, order::relaxed); }};
    throw 1;
  });
  run.finds("a loop that waits for another thread without model_yield()", "model_yield()", model_test::all,
            [] {
              word value{0};
              model_thread other{[&] { value.store(1, order::relaxed); }};
              while (value.load(order::relaxed) == 0) {
              }
            });
  int calls = 0;
  run.finds("a body with fewer threads the second time", "not deterministic", model_test::all, [&calls] {
    word value{0};
    const auto change = [&] { value.fetch_add(1, order::relaxed); };
    model_thread other{change};
    std::optional<model_thread> third;
    if (calls++ == 0) third.emplace(change);
    change();
  });
  const auto not_a_replay = model_replay("07", lost_wake_up);
  run.check("a string that is no replay", 0, [=] {
    model_expect(not_a_replay.failure.find("the replay does not match this body") != std::string::npos,
                 "it is told");
  });
}

/// Values are printed according to their type; repeated lines are merged.
void schedules(model_test& run) {
  struct alignas(16) node {};
  const auto found = model_check([] {
    node first, second;
    word number{-5};
    coracle::detail::atomic<node*> top{nullptr};
    for (int i = 0; i != 3; ++i) static_cast<void>(number.load(order::relaxed));
    for (node* each : {&first, &second, &first}) top.store(each, order::relaxed);
    model_expect(false, "the end");
  });
  const auto shows = [&](const char* what) { return found.schedule.find(what) != std::string::npos; };
  const bool has_number = shows("load number = -5 relaxed"), counts = shows("(3 times)");
  const bool has_addresses = shows("store top = address 2 relaxed") && !shows("address 3");
  run.check("a schedule tells values and addresses apart", 0, [=] {
    model_expect(has_number, "a negative number is one");
    model_expect(counts, "the same line comes once");
    model_expect(has_addresses, "the same address is called the same");
  });
}

/// The string of a failure suffices to reproduce it, and the schedule names the lines.
void replays(model_test& run) {
  for (const unsigned bound : {model_test::all, 1U}) {
    model_limits limits;
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
/// Random schedules find a failure that needs three preemptions in the right places; a seed is reproducible.
void random_runs(model_test& run) {
  model_limits limits;
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
  ends_of_plain_fields(run);
  memory(run);
  livelock(run);
  misuse(run);
  schedules(run);
  replays(run);
  random_runs(run);
  return run.finish();
}
