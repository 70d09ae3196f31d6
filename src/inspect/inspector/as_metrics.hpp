// SPDX-License-Identifier: MIT
// Metrics in the text format of Prometheus. docs/debugging.md lists them.
#pragma once
#include <chrono>
#include <coracle/inspect/runtime_metrics.hpp>
#include <string>

#include "../coroutine_search.hpp"
#include "../free_frames.hpp"

namespace coracle::detail {
/// As the format is called in the header of an answer, without the character set.
inline constexpr char metrics_type[] = "text/plain; version=0.0.4";

/// The schedulers, the free frames, and the threads and descriptors of the process.
[[nodiscard]] std::string metrics_text(const runtime_metrics& of, const free_frame_counts& free);
/// The coroutines, and what it took to find them.
[[nodiscard]] std::string metrics_text(const coroutine_search& found,
                                       std::chrono::nanoseconds processor_time);
}  // namespace coracle::detail
