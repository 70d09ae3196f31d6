// SPDX-License-Identifier: MIT
// A search's result as JSON, with the keys of coracle-ps --json. docs/debugging.md states them.
#pragma once
#include <string>

#include "../coroutine_search.hpp"

namespace coracle::detail {
/// Returns one line. Equal results give equal text.
[[nodiscard]] std::string json_of(const coroutine_search& found, bool is_from_copy);
/// The same for a program whose coroutines cannot be found.
[[nodiscard]] std::string json_of_refusal(const char* reason);
}  // namespace coracle::detail
