// tour/html_writer.hpp -- the report as one page that needs nothing else.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report.hpp"

namespace tour {
/// Self-contained: style, pictures and script inside, nothing from outside. Without the script everything is
/// shown.
std::string to_html(const report& whole);

/// Text from outside, safe between tags and in attributes.
std::string escaped(std::string_view foreign);
/// A chart as inline SVG with its legend.
std::string drawn_curves(const curve_chart& chart);
std::string drawn_area(const level_chart& chart);
/// C++ source text in a <pre>, its words coloured, each line an element.
std::string coloured_code(std::string_view text);
/// The pictures one after the other, beside the code that runs; null: there is none.
std::string played_memory(const listing* code, const std::vector<memory_picture>& pictures);
/// The lanes as they run, and the list of events, beside the code that runs; null: there is none.
std::string played_timeline(const listing* code, const timeline& recorded);
}  // namespace tour
