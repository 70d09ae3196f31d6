// tour/html_writer.hpp -- the report as one page that needs nothing else.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "report.hpp"

namespace tour {
/// Self-contained: style and pictures inside, no script, nothing from outside.
std::string to_html(const report& whole);

/// Text from outside, safe between tags and in attributes.
std::string escaped(std::string_view foreign);
/// A chart as inline SVG with its legend.
std::string drawn_curves(const curve_chart& chart);
}  // namespace tour
