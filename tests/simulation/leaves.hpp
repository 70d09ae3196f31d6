// tests/simulation/leaves.hpp -- leaf coroutines, which wait for various operations, complete or fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>

#include "world.hpp"

namespace coracle_test {
/// The leaves of a tree of coroutines, and what they wait for. Each resumes where it was.
class leaves {
 public:
  explicit leaves(world& its_world) : w(its_world) {}

  /// Waits for no time, for one turn, or for some time.
  task<> pause() {
    const unsigned kind = w.below(3);
    if (kind == 1) co_await coracle::this_task::yield();
    if (kind == 2) co_await coracle::sleep_for(w.a_while());
  }
  /// Returns a random leaf.
  task<int> any() {
    switch (w.below(13)) {
      case 0:
        break;
      case 1:
        throw scenario_error(1);
      case 2:
        co_await pause();
        break;
      case 3: {
        co_await pause();
        if (w.one_in(2)) throw scenario_error(3);
        break;
      }
      case 4:
        co_await pulse;
        break;
      case 5:
        co_await gate;
        break;
      case 6: {
        const auto lock = co_await mutex.scoped_lock_async();
        co_await pause();
        if (w.one_in(4)) throw scenario_error(6);
        break;
      }
      case 7: {
        const auto permit = co_await permits.scoped_acquire();
        co_await pause();
        break;
      }
      case 8:
        co_await coracle::sleep_for(w.a_while());
        break;
      case 9: {  // fails as it cleans up
        bool stopped = false;
        try {
          co_await pulse;
        } catch (const coracle::operation_cancelled&) {
          stopped = true;
        }
        if (stopped) throw scenario_error(9);
        break;
      }
      case 10: {  // ends well although it is stopped
        try {
          co_await gate;
        } catch (const coracle::operation_cancelled&) {
        }
        break;
      }
      case 11: {
        auto first =
            co_await coracle::select(meeting.recv(), buffer.send(3), coracle::sleep_for(w.a_while()), pulse);
        static_cast<void>(first);
        break;
      }
      case 12: {
        auto first = co_await coracle::select(meeting.send(1), permits.acquire(), mutex.lock_async(),
                                              coracle::sleep_for(w.a_while()));
        if (first.index() == 1) permits.release();
        if (first.index() == 2) mutex.unlock();
        break;
      }
    }
    co_return static_cast<int>(w.below(1000));
  }
  /// Wakes the leaves that wait for events which no leaf triggers, until stop_waking().
  task<> wake() {
    while (!is_over_) {
      co_await coracle::sleep_for(3us);
      pulse.set();
      gate.set();
      if (w.one_in(2)) gate.reset();
      static_cast<void>(meeting.try_send(1));
      static_cast<void>(buffer.try_recv());
    }
  }
  void stop_waking() noexcept { is_over_ = true; }

  world& w;
  coracle::async_auto_reset_event pulse;
  coracle::async_manual_reset_event gate;
  coracle::async_mutex mutex;
  coracle::async_semaphore permits{2};
  coracle::channel<int> meeting{0}, buffer{1};

 private:
  bool is_over_ = false;
};
}  // namespace coracle_test
