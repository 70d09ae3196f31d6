// tour/json_writer.hpp -- the report for programs.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "report.hpp"

namespace tour {
/// One JSON object (RFC 8259, UTF-8): each section with its figures by name and all that it showed.
std::string to_json(const report& whole);
}  // namespace tour
