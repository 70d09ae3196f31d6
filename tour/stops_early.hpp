// tour/stops_early.hpp -- optional and expected as coroutines that end at the first missing value.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace tour {
struct early_stop {
  std::vector<std::string> events;  ///< in the order in which they happened
  bool as_promised = false;
  std::string summary;
};
early_stop stop_with_optional();
early_stop stop_with_expected();
}  // namespace tour
