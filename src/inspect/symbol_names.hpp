// SPDX-License-Identifier: MIT
// Names of functions as a person would write them.
#pragma once
#include <string>

#include "process_memory.hpp"

namespace coracle::detail {
using short_name = fixed_text<192>;

/// Appends `app::serve` for the linker's `_ZN3app5serveEi.resume`, or `lambda in app::serve`: without
/// parameters, template arguments and anonymous namespaces. Leaves names that it cannot parse unchanged.
/// Async-signal-safe.
void append_short_name(const char* symbol, short_name& to) noexcept;

/// Returns the whole name, demangled, without what the library adds for the linker.
[[nodiscard]] std::string demangled(const char* symbol);
}  // namespace coracle::detail
