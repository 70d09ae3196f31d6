// tour/screen.hpp -- how wide the tour's output may be.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace tour {
inline constexpr std::size_t narrowest_page = 48, widest_page = 100;

/// Columns of the terminal at standard output, between the two above: COLUMNS, if it is set to a number; else
/// what the terminal says. For a pipe or a file the widest, unless COLUMNS is set.
std::size_t page_width();
}  // namespace tour
