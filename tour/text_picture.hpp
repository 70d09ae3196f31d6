// tour/text_picture.hpp -- a memory picture drawn with box characters.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "report.hpp"

namespace tour {
/// The columns side by side, each box with its name, address, size and notes.
std::vector<std::string> drawn_memory(const memory_picture& picture);
}  // namespace tour
