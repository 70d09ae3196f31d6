// SPDX-License-Identifier: MIT
// The turns of each thread, kept by that thread (ADR 45).
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <coracle/base/thread.hpp>
#include <coracle/core/executor.hpp>
#include <memory>
#include <vector>

#include "process_memory.hpp"

namespace coracle::detail {
// The order of the fields matters: a search for coroutines must not take an event for a waiter in a queue.
struct turn_event {
  enum class kind : std::uint8_t { begin, end, post };

  std::int64_t time = 0;  ///< of the steady clock, in nanoseconds
  kind what = kind::begin;
  bool by_io = false;           ///< of a post
  bool has_ended = false;       ///< of an end: the task has
  std::uintptr_t wait = 0;      ///< may be a function that shows what the coroutine has waited for
  std::uintptr_t function = 0;  ///< the resume function of the coroutine
  std::uintptr_t frame = 0;
  std::uintptr_t task = 0;  ///< the frame of the outermost coroutine that awaits it without a combinator
  std::uintptr_t task_function = 0;
  std::uintptr_t awaiting = 0;  ///< the frame of the coroutine that awaits the task in a combinator
  std::uintptr_t awaiting_function = 0;
  std::uintptr_t through = 0;  ///< the function that the task continues in the combinator
};

/// The functions of the coroutine with which a turn began, and of those that await it, innermost first.
struct await_chain {
  static constexpr std::size_t most = 16;
  std::uintptr_t functions[most];
  std::size_t size = 0;
};
/// A turn under way, or one that has lasted too long.
struct observed_turn {
  std::int64_t began = 0;
  std::int64_t ended = 0;  ///< 0: it is under way
  pid_t thread = 0;
  std::uint64_t number = 0;  ///< of the thread's turns
  await_chain awaits;
};

struct thread_events {
  pid_t thread = 0;
  char name[16] = {};
  std::vector<turn_event> events;  ///< the oldest first
  std::uint64_t lost = 0;
};
struct trace_data {
  std::int64_t began = 0, ended = 0;
  std::vector<thread_events> threads;
};

/// Records while a trace is wanted, or long turns are. All of it may be called from any thread.
class turn_recorder {
 public:
  /// Returns false if a trace is being recorded.
  static bool start_trace(std::size_t events_per_thread) noexcept;
  /// Returns null if no trace was recorded.
  static std::unique_ptr<trace_data> stop_trace();

  enum class watcher : std::uint8_t { program, page };
  /// Keeps the last turns that took longer than `limit` nanoseconds, or than the other watcher's limit; 0:
  /// none for this one. Returns its previous limit.
  static std::int64_t keep_long_turns(watcher who, std::int64_t limit) noexcept;
  /// Returns the turns that have taken longer than a limit: those under way, and the last few that ended,
  /// the newest first.
  static std::vector<observed_turn> long_turns();
};
[[nodiscard]] inline std::int64_t nanoseconds_now() noexcept {
  return std::chrono::nanoseconds(real_now().time_since_epoch()).count();
}
}  // namespace coracle::detail
