// tests/unit/io_loop_polled_test.cpp -- the events that one poll of an io_service's loop has completed.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <coracle/io/io_service.hpp>
#include <coroutine>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../src/exec/turn_order.hpp"
#include "../../src/io/io_backend.hpp"
#include "../../src/io/io_loop.hpp"
#include "../../src/io/lock_bias.hpp"
#include "../support/detached.hpp"
#include "../support/inert_io_system.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::io_service;
using coracle::detail::io_backend;
using coracle::detail::io_event;
using coracle::detail::io_loop;
using coracle_test::detached;

constexpr std::uint64_t slice = coracle::detail::turn_order::slice;

/// The next poll completes the events that are in `ready`.
struct played {
  std::vector<io_event*> ready;
  int polls = 0;
  int waits = 0;  // of these polls
  int wakes = 0;
  std::uint64_t ticks = 0;
  io_loop* loop = nullptr;
  coracle::detail::lock_bias bias;

  /// Returns true if the calling thread needs no locks.
  bool is_alone() { return coracle::detail::lock_bias::use{bias}.is_alone(); }
};

class played_backend final : public coracle_test::inert_io_backend {
 public:
  played_backend(coracle::detail::io_system& system, played& its) noexcept
      : inert_io_backend(system), its_(its) {}

  signals poll(bool wait, completions& completed) noexcept override {
    const std::lock_guard lock{mutex_};
    if (wait) {
      REQUIRE_FALSE(its_.ready.empty());
      ++its_.waits;
    }
    ++its_.polls;
    for (io_event* const each : std::exchange(its_.ready, {})) complete(*each, completed);
    return {};
  }
  void wake() noexcept override { ++its_.wakes; }
  void set_timer(std::uint64_t) noexcept override {}
  coracle::detail::lock_bias* bias() noexcept override { return &its_.bias; }

 private:
  std::mutex mutex_;
  played& its_;
};

class played_system final : public coracle_test::inert_io_system {
 public:
  std::chrono::steady_clock::time_point now() noexcept override { return {}; }
  std::uint64_t ticks() noexcept override { return its.ticks; }
  std::unique_ptr<io_backend> backend_for(io_loop& loop) override {
    its.loop = &loop;
    loop.count_watched(true);
    return std::make_unique<played_backend>(*this, its);
  }

  played its;
};

/// A wait for an event; it may be destroyed while the event is completed and not delivered.
class event_wait : io_event {
 public:
  event_wait(io_service& io, played& its) noexcept : its_(its) { home = &io; }
  event_wait(const event_wait&) = delete;
  event_wait& operator=(const event_wait&) = delete;
  ~event_wait() {
    if (waits_) CHECK(its_.loop->unlist(*this));
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) {
    handle = suspended;
    waits_ = true;
    its_.ready.push_back(this);
  }
  void await_resume() noexcept { waits_ = false; }

 private:
  played& its_;
  bool waits_ = false;
};

/// Waits, then adds its name to `order`.
coracle_test::test_coroutine wait_and_note(io_service& io, played& its, std::string& order) {
  co_await event_wait{io, its};
  order += '?';
}

struct place {
  played_system system;
  io_service io{system};
  std::string order;

  detached wait(char name) {
    co_await event_wait{io, system.its};
    order += name;
  }
  template <class F>
  detached hop(char name, F f) {
    co_await io.schedule();
    order += name;
    f();
  }
  detached hop(char name) {
    return hop(name, [] {});
  }
  /// Waits, then calls f.
  template <class F>
  detached wait(char name, F f) {
    co_await event_wait{io, system.its};
    order += name;
    f();
  }
};

TEST_CASE("io_service: events of one poll are delivered in order, without another poll in between") {
  place at;
  for (const char name : {'a', 'b', 'c'}) at.wait(name);
  CHECK(at.io.process_pending_events() == 3);
  CHECK(at.order == "abc");
  CHECK(at.system.its.polls == 2);  // the second finds nothing
}

TEST_CASE("io_service: what is posted while events are delivered waits for one of them at most") {
  place at;
  at.wait('a', [&] { at.hop('A'); });
  at.wait('b');
  at.wait('c', [&] { at.hop('C'); });
  at.wait('d');
  at.wait('e');
  CHECK(at.io.process_pending_events() == 7);
  CHECK(at.order.substr(0, 4) == "aAbc");
  CHECK(at.order.find('C') <= 5);
}

TEST_CASE(
    "io_service: beside coroutines that are scheduled the loop polls soon after an event, then less often") {
  place at;
  std::vector<std::uint64_t> ticks_of_polls;
  const auto hops = [&]() -> detached {
    for (int polls = 0; at.system.its.ticks != 4 * slice; at.system.its.ticks += slice / 16) {
      co_await at.io.schedule();
      if (at.system.its.polls != polls) ticks_of_polls.push_back(at.system.its.ticks * 16 / slice);
      polls = at.system.its.polls;
    }
  };
  at.system.its.ticks = slice;  // a poll is due
  at.wait('a');
  hops();
  at.io.process_pending_events();
  CHECK(ticks_of_polls == std::vector<std::uint64_t>{16, 18, 22, 30, 46, 62});
}

TEST_CASE("io_service: events that wait do not make the loop poll early") {
  place at;
  at.wait('a', [&] {
    at.hop('A', [&] { CHECK(at.system.its.polls == 1); });
    at.system.its.ticks += slice / 2;
  });
  at.wait('b', [&] {
    at.hop('B', [&] { CHECK(at.system.its.polls == 2); });  // b was the last
  });
  at.io.process_pending_events();
  CHECK(at.order == "aAbB");
}

TEST_CASE("io_service: a turn of file operations ends early if an event waits or a poll is due") {
  place at;
  const auto over = [&](std::uint64_t ticks, bool of_file) {
    at.system.its.ticks += ticks;
    return io_loop::turn_is_over(of_file);
  };
  at.wait('a', [&] {
    CHECK_FALSE(over(slice / 16, true));
    CHECK_FALSE(over(slice / 16, false));
    CHECK(over(0, true));
    CHECK_FALSE(over(0, true));  // another has begun
    CHECK_FALSE(over(slice - 1, false));
    CHECK(over(1, false));
  });
  at.wait('b', [&] {
    CHECK_FALSE(over(0, true));
    CHECK(over(slice / 8, true));
    at.hop('B', [&] {
      CHECK(at.system.its.polls == 2);  // which has found nothing
      CHECK_FALSE(over(slice / 8, true));
      CHECK(over(slice / 8, true));
    });
  });
  at.io.process_pending_events();
  CHECK(at.order == "abB");
}

TEST_CASE("io_service: a send is the first if none was since the poll, and no other event waits") {
  place at;
  at.wait('a', [&] { CHECK_FALSE(io_loop::sends_first()); });
  at.wait('b', [&] {
    CHECK_FALSE(io_loop::sends_first());
    at.wait('c', [&] {
      CHECK(io_loop::sends_first());
      CHECK_FALSE(io_loop::sends_first());
    });
  });
  at.io.process_pending_events();
  CHECK(at.order == "abc");
}

TEST_CASE(
    "io_service: the loop polls between two events of one poll once the interval for events has passed") {
  place at;
  at.wait('a', [&] {
    at.system.its.ticks += 8 * slice;
    at.wait('z', [&] { at.io.stop(); });
  });
  at.wait('b', [&] { at.system.its.ticks += 7 * slice; });
  at.wait('c', [&] { CHECK(at.system.its.polls == 2); });
  at.io.process_events();
  CHECK(at.system.its.waits == 1);  // not again while there are events to deliver
  CHECK(at.order == "abcz");
}

TEST_CASE("io_service: a run inside an event delivers the others of the same poll") {
  place at;
  at.wait('a', [&] {
    CHECK(at.io.process_one_pending_event() == 1);
    CHECK(at.order == "ab");
  });
  at.wait('b');
  at.wait('c');
  CHECK(at.io.process_pending_events() == 2);
  CHECK(at.order == "abc");
}

TEST_CASE("io_service: a sleeping thread is woken for the second event of a poll") {
  place at;
  at.system.its.loop->count_external_driver();  // counts as a thread that sleeps
  at.wait('a', [&] { CHECK(at.system.its.wakes == 1); });
  at.wait('b');
  at.io.process_pending_events();
  CHECK(at.order == "ab");
}

TEST_CASE("io_service: of several threads, one that blocks does not hold up the other events of its poll") {
  place at;
  std::latch other_runs{1}, may_go_on{1}, second_delivered{1};
  std::thread other;
  // This thread runs the loop first.
  at.hop('s', [&] {
    at.hop('t', [&] {
      other_runs.count_down();
      may_go_on.wait();
    });
    other = std::thread{[&] { at.io.process_pending_events(); }};
    other_runs.wait();
    at.wait('a', [&] {
      may_go_on.count_down();
      second_delivered.wait();
    });
    at.wait('b', [&] { second_delivered.count_down(); });
  });
  at.io.process_pending_events();
  other.join();
  CHECK(at.order == "stab");
}

/// A system without membarrier(2) has no bias.
const bool has_bias = coracle::detail::asymmetric_fence{}.is_free();

TEST_CASE(
    "io_service: a thread that runs the loop alone needs none of the backend's locks, until it leaves") {
  place at;
  for (int run = 0; run != 2; ++run) {
    CHECK_FALSE(at.system.its.is_alone());
    at.wait('a', [&] { CHECK(at.system.its.is_alone() == has_bias); });
    at.io.process_pending_events();
  }
  CHECK_FALSE(at.system.its.is_alone());
  CHECK(at.order == "aa");
}

TEST_CASE("io_service: once several threads run the loop, each needs the backend's locks") {
  place at;
  std::latch other_runs{1}, may_go_on{1};
  std::thread other;
  at.wait('a', [&] {
    at.hop('b', [&] {
      other_runs.count_down();
      CHECK_FALSE(at.system.its.is_alone());
      may_go_on.wait();
    });
    other = std::thread{[&] { at.io.process_pending_events(); }};
    other_runs.wait();
    may_go_on.count_down();
  });
  at.io.process_pending_events();
  other.join();
  CHECK(at.order == "ab");
  for (int run = 0; run != 100; ++run) {
    at.wait('c', [&] { CHECK_FALSE(at.system.its.is_alone()); });
    at.io.process_pending_events();
  }
}

TEST_CASE("io_service: a thread that runs the loop inside another loop inside this one still runs it alone") {
  place at, other;
  at.wait('a', [&] {
    other.wait('b', [&] {
      at.wait('c', [&] { CHECK(at.system.its.is_alone() == has_bias); });
      at.io.process_pending_events();
    });
    other.io.process_pending_events();
    CHECK(at.order == "ac");
  });
  at.io.process_pending_events();
  at.wait('d', [&] { CHECK(at.system.its.is_alone() == has_bias); });
  at.io.process_pending_events();
  CHECK(at.order == "acd");
}

TEST_CASE("io_service: without a sleeping thread nothing is woken") {
  place at;
  at.wait('a');
  at.wait('b');
  at.io.process_pending_events();
  CHECK(at.system.its.wakes == 0);
}

TEST_CASE("io_service: a stop inside an event leaves the others of the same poll for the next run") {
  place at;
  at.wait('a', [&] { at.io.stop(); });
  at.wait('b');
  at.wait('c');
  CHECK(at.io.process_pending_events() == 1);
  at.io.reset();
  CHECK(at.io.process_one_pending_event() == 1);
  CHECK(at.io.process_one_pending_event() == 1);
  CHECK(at.order == "abc");
}

TEST_CASE(
    "io_service: a coroutine is destroyed whose event is the first, or the last, of those to be delivered") {
  for (const std::size_t victim : {0u, 1u, 2u}) {
    CAPTURE(victim);
    place at;
    std::vector<coracle_test::test_coroutine> waiting;
    at.wait('a', [&] {
      waiting[victim].destroy();
      at.wait('z');
    });
    for (int i = 0; i != 3; ++i) waiting.push_back(wait_and_note(at.io, at.system.its, at.order));
    for (auto& each : waiting) each.resume();
    at.io.process_pending_events();
    CHECK(at.order == "a??z");

    // Both lists are intact: that of the thread, and that of the loop.
    at.wait('b');
    at.system.its.loop->finish(*at.system.its.ready.back());
    at.system.its.ready.clear();
    at.wait('c');
    at.io.process_pending_events();
    CHECK(at.order == "a??zbc");
  }
}
}  // namespace
