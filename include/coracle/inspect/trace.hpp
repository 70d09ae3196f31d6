// coracle/inspect/trace.hpp -- where the time of each task went: running, queued, waiting for what.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle {
namespace detail {
struct trace_data;
}

/// From now on, each turn is recorded: which coroutine a scheduler resumed, when, on which thread, and what
/// it had waited for. Returns false, and changes nothing, if a trace is being recorded already.
///
///     coracle::start_trace();
///     serve_for_a_while();
///     const coracle::recorded_trace trace = coracle::stop_trace();
///     std::fputs(trace.to_text().c_str(), stderr);
///     trace.write("server.trace.json");  // for ui.perfetto.dev
///
/// Each thread keeps its last `events_per_thread` events, of 80 bytes; a turn has two or three.
/// Threads     any.
/// Exceptions  none. A thread that gets no memory records nothing, which the trace says.
/// Cost        while no trace is recorded, two instructions for each turn and each post; otherwise two
///             readings of the clock and a few system calls for each turn (docs/debugging.md has figures).
bool start_trace(std::size_t events_per_thread = std::size_t{1} << 16) noexcept;

/// What was recorded. Functions have the names that the symbol table gives; those of a stripped program have
/// none.
class recorded_trace {
 public:
  /// Empty.
  recorded_trace() noexcept;
  explicit recorded_trace(std::unique_ptr<detail::trace_data> recorded) noexcept;
  recorded_trace(recorded_trace&& other) noexcept;
  recorded_trace& operator=(recorded_trace&& other) noexcept;
  ~recorded_trace();

  /// The number of turns that have ended.
  [[nodiscard]] std::size_t turns() const noexcept;
  /// The number of events that newer ones have overwritten, or for which there was no memory. The trace then
  /// begins after the last of them.
  [[nodiscard]] std::uint64_t lost() const noexcept;

  /// Returns a table with one row for each function whose calls are the roots of tasks:
  ///
  ///     trace of 22.3 ms: 4 threads, 47 turns
  ///     task             count      total    running     queued    waiting
  ///     look_up              8    68.6 ms     1.3 ms     406 us    66.9 ms  waits to lock async_mutex ...
  ///
  /// A task is a coroutine with those that it awaits one after the other; the children of a when_all, and
  /// what a scope spawns, are tasks of their own.
  [[nodiscard]] std::string to_text() const;
  /// Returns the same in the format that Perfetto and Chrome open: a track for each thread with its turns,
  /// and tracks for the tasks with what each did.
  [[nodiscard]] std::string to_json() const;
  /// Writes to_json() to a file.
  /// Exceptions  std::system_error.
  void write(const std::string& path) const;

 private:
  std::unique_ptr<detail::trace_data> data_;
};

/// Ends the recording, and returns what was recorded; empty if nothing was.
/// Threads     any.
/// Exceptions  std::bad_alloc; the recording has ended then, too.
[[nodiscard]] recorded_trace stop_trace();
}  // namespace coracle
