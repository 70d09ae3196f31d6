// tests/support/stop_race.hpp -- stop requests at arbitrary times, for stress programs.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "stoppable.hpp"
#include "stress.hpp"

namespace coracle_test {
/// A thread that repeatedly requests one coroutine after another to stop.
class stops_at_random {
 public:
  explicit stops_at_random(std::size_t coroutines) : sources_(coroutines) {
    thread_ = std::thread([this] {
      for (std::size_t i = 0; !over_; ++i) {
        hold_up(static_cast<int>(7919 * i % 400));
        source_of(i % sources_.size()).request_stop();
        if (i % 16 == 0) std::this_thread::yield();
      }
    });
  }
  ~stops_at_random() {
    over_ = true;
    thread_.join();
  }
  /// Returns a token for the next wait of coroutine `i`.
  coracle::stop_token renew(std::size_t i) {
    const std::lock_guard lock{mutex_};
    sources_[i] = coracle::stop_source{};
    return sources_[i].get_token();
  }

 private:
  coracle::stop_source source_of(std::size_t i) {
    const std::lock_guard lock{mutex_};
    return sources_[i];
  }

  std::mutex mutex_;
  std::vector<coracle::stop_source> sources_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

enum class ended { not_yet, carried_out, cancelled };
template <class Awaitable>
stoppable note_end(coracle::stop_token, Awaitable work, std::atomic<ended>& how) {
  try {
    static_cast<void>(co_await std::move(work));
    how = ended::carried_out;
  } catch (const coracle::operation_cancelled&) {
    how = ended::cancelled;
  }
}

/// Two coroutines queue for something that completes once; the first is stopped as it completes. `Round` has
/// `first`, `second`, `stop` as below, and complete(). Returns the number of failed rounds.
struct two_waiters {
  coracle::stop_source stop;  // of the first
  std::atomic<ended> first{ended::not_yet}, second{ended::not_yet};

  [[nodiscard]] bool right() const {
    return (first == ended::carried_out && second == ended::not_yet) ||
           (first == ended::cancelled && second == ended::carried_out);
  }
};
template <class Round>
int race_a_stop(int most) {
  std::vector<std::unique_ptr<Round>> rounds(static_cast<std::size_t>(most));
  for (auto& each : rounds) each = std::make_unique<Round>();
  const auto at = [&](int i) -> Round& { return *rounds[static_cast<std::size_t>(i)]; };
  const int done = side_by_side(
      most,
      [&](int i) {
        hold_up(i / 128 % 300);  // shifts the stop request in time
        at(i).complete();
      },
      [&](int i) { at(i).stop.request_stop(); });
  int wrong = 0;
  for (int i = 0; i != most; ++i) {
    if (i >= done) at(i).complete();
    wrong += !at(i).right();
    at(i).finish();
  }
  return wrong;
}

/// A coroutine begins to wait while its wait completes and a stop is requested, in either order. `Round` has
/// `stop`, start(), complete() and intact(). Returns the number of failed rounds.
template <class Round>
int race_a_start(int most) {
  std::vector<std::unique_ptr<Round>> rounds(static_cast<std::size_t>(most));
  for (auto& each : rounds) each = std::make_unique<Round>();
  const auto at = [&](int i) -> Round& { return *rounds[static_cast<std::size_t>(i)]; };
  const int done = side_by_side(
      most, [&](int i) { at(i).start(); },
      [&](int i) {
        if (i % 2 == 0) at(i).stop.request_stop();
        at(i).complete();
        if (i % 2 == 1) at(i).stop.request_stop();
      });
  int wrong = 0;
  for (int i = 0; i != done; ++i) wrong += !at(i).intact();
  for (int i = done; i != most; ++i) at(i).complete();
  return wrong;
}
}  // namespace coracle_test
