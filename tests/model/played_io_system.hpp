// tests/model/played_io_system.hpp -- an io_service over a modelled system; the case plays the kernel.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <coracle/base/park.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "../../src/io/io_loop.cpp"     // NOLINT: no library for the checker has them
#include "../../src/io/io_service.cpp"  // NOLINT
#include "../../src/io/made_when_needed.hpp"
#include "../support/inert_io_system.hpp"
#include "model_waits.hpp"

inline coracle::detail::io_system& coracle::detail::io_system::linux_system() noexcept { std::abort(); }

namespace coracle_test {
using coracle::detail::atomic;
using coracle::detail::io_event;
using coracle::detail::io_loop;
using order = std::memory_order;
using time_point = std::chrono::steady_clock::time_point;

/// One word holds every reason to end a sleep; the thread that takes it out informs the loop. It is created
/// late, as epoll's is. A request has ended when over() says so.
class played_backend final : public inert_io_backend {
 public:
  played_backend(coracle::detail::io_system& system, io_loop& loop) noexcept
      : inert_io_backend(system), loop_(loop) {
    loop.count_watched(true);
  }

  signals poll(bool wait, completions& found) noexcept override {
    flush();
    poller* const its = wait ? poller_.try_make() : poller_.get();
    if (!its) {
      if (is_fair) coracle::testing::model_yield();
      return {true, true};
    }
    const std::uint32_t left = is_fair && !wait && unfair_looks == 0 ? woken : 0;
    if (!wait && unfair_looks != 0) --unfair_looks;
    std::uint32_t seen = its->word.fetch_and(left, order::acq_rel) & ~left;
    if (is_fair && !wait && seen == 0) coracle::testing::model_yield();
    while (wait && seen == 0) {
      coracle::detail::park(its->word, 0);
      seen = its->word.exchange(0, order::acq_rel);
    }
    if (seen & completed) complete(*event_, found);
    if (seen & completed_second) complete(*second_event_, found);
    return {(seen & woken) != 0, (seen & timer) != 0};
  }
  /// If false, a poll() that does not wait consumes any wake(), as epoll's does. A thread that keeps polling
  /// without sleeping could, in theory, keep a wake() from the sleeper that it is meant for.
  bool is_fair = false;
  /// The number of such polls that consume a wake() even so.
  unsigned unfair_looks = 0;
  /// Submitted requests complete immediately.
  void flush() noexcept override {
    io_event* const submitted = submitted_.exchange(nullptr, order::acq_rel);
    if (submitted) over(*submitted);
  }
  /// Kept until the next poll, as by a ring.
  void submit_later(io_event& event) noexcept {
    submitted_.store(&event, order::release);
    loop_.flush_soon();
  }
  void wake() noexcept override {
    if (poller* const its = poller_.get()) its->tell(woken);
  }
  void set_timer(std::uint64_t) noexcept override {}
  /// The timer of set_timer() expires.
  void ring() noexcept { poller_.make().tell(timer); }
  /// The poll that ends the sleep reports it.
  void over(io_event& event) noexcept {
    event_ = &event;
    poller_.make().tell(completed);
  }
  /// Both at once.
  void over(io_event& event, io_event& second) noexcept {
    event_ = &event;
    second_event_ = &second;
    poller_.make().tell(completed | completed_second);
  }
  /// Completed by another thread.
  void over_elsewhere(io_event& event) noexcept { loop_.finish(event); }
  /// A thread opens a socket.
  void make() noexcept { poller_.make(); }

 private:
  static constexpr std::uint32_t woken = 1, timer = 2, completed = 4, completed_second = 8;
  struct poller {
    poller() noexcept : word(woken | timer) {}
    void tell(std::uint32_t what) noexcept {
      word.fetch_or(what, order::acq_rel);
      coracle::detail::unpark(&word, 1);
    }
    atomic<std::uint32_t> word;
  };

  io_loop& loop_;
  coracle::detail::plain<io_event*> event_ = nullptr, second_event_ = nullptr;
  atomic<io_event*> submitted_{nullptr};
  coracle::detail::made_when_needed<poller> poller_;
};

class played_system final : public inert_io_system {
 public:
  time_point now() noexcept override { return time_point{std::chrono::seconds{time.load(order::relaxed)}}; }
  /// Each look takes a tick: so few events are delivered between two polls. Under the loop's lock, or by its
  /// only thread.
  std::uint64_t ticks() noexcept override { return ++ticks_; }
  std::unique_ptr<coracle::detail::io_backend> backend_for(io_loop& loop) override {
    auto made = std::make_unique<played_backend>(*this, loop);
    backend = made.get();
    return made;
  }

  atomic<int> time{0};
  played_backend* backend = nullptr;

 private:
  std::uint64_t ticks_ = 0;
};

struct place {
  played_system system;
  coracle::io_service io{system};
};

inline detached hop(coracle::io_service& io, plain_int& done) {
  co_await io.schedule();
  ++done;
}
}  // namespace coracle_test
