// tour/text_picture.hpp -- a memory picture drawn with box characters.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "report.hpp"

namespace tour {
/// The columns side by side, as many as `width` has room for and the others below; each box with its name,
/// address, size and notes.
std::vector<std::string> drawn_memory(const memory_picture& picture, std::size_t width);
}  // namespace tour
