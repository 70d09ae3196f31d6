// SPDX-License-Identifier: MIT
// A search's result as JSON, with the keys of coracle-ps --json. docs/debugging.md states them.
#pragma once
#include <chrono>
#include <coracle/inspect/runtime_metrics.hpp>
#include <string>

#include "../coroutine_search.hpp"
#include "../turn_recorder.hpp"

namespace coracle::detail {
/// Returns one line. Equal results give equal text.
[[nodiscard]] std::string json_of(const coroutine_search& found, bool is_from_copy);
/// Returns an array of the turns, for the page.
[[nodiscard]] std::string json_of(const std::vector<observed_turn>& long_turns, symbols& names);
/// The same as for a search, for a program whose coroutines cannot be found.
[[nodiscard]] std::string json_of_refusal(const char* reason);
/// For the page: the schedulers, and the threads and descriptors of the process at that time.
[[nodiscard]] std::string json_of(const runtime_metrics& of, std::chrono::nanoseconds now);
}  // namespace coracle::detail
