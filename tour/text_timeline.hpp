// tour/text_timeline.hpp -- timelines and fill levels drawn with characters.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "report.hpp"

namespace tour {
/// A column of marks for each lane and a line for each event. Lines of at most `width` columns.
std::vector<std::string> drawn_timeline(const timeline& recorded, std::size_t width);
/// The level over time, the highest line first.
std::vector<std::string> drawn_levels(const level_chart& chart, std::size_t width);
}  // namespace tour
