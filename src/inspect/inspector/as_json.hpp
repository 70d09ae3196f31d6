// SPDX-License-Identifier: MIT
// A search's result as JSON, with the keys of coracle-ps --json. docs/debugging.md states them.
#pragma once
#include <chrono>
#include <coracle/inspect/runtime_metrics.hpp>
#include <map>
#include <optional>
#include <string>

#include "../coroutine_search.hpp"
#include "../free_frames.hpp"
#include "../turn_recorder.hpp"
#include "suspension_lines.hpp"

namespace coracle::detail {
/// Returns one line. Equal results give equal text.
[[nodiscard]] std::string json_of(const coroutine_search& found, bool is_from_copy, suspension_lines& lines);
/// Returns an array of the turns, for the page.
[[nodiscard]] std::string json_of(const std::vector<observed_turn>& long_turns, symbols& names);
/// The same as for a search, for a program whose coroutines cannot be found.
[[nodiscard]] std::string json_of_refusal(const char* reason);

/// The memory of frames by size. No frames are known to live if the program's coroutines cannot be found.
struct frame_memory {
  std::optional<std::map<std::size_t, std::size_t>> live;  ///< as coroutine_search::counts_by_size()
  free_frame_counts free;
};
/// Returns what `coracle-ps --memory --json` prints.
[[nodiscard]] std::string json_of(const frame_memory& of);
/// For the page: the schedulers, the memory of frames, and the threads and descriptors of the process at that
/// time.
[[nodiscard]] std::string json_of(const runtime_metrics& of, const frame_memory& memory,
                                  std::chrono::nanoseconds now);
}  // namespace coracle::detail
