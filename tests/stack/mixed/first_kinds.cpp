// SPDX-License-Identifier: MIT
#include <cstdio>

#include "kinds.hpp"

kinds first_kinds() { return make_kinds(); }

namespace {
bool ends_early() {
  return !an_optional(std::nullopt) && !a_larger_optional(std::nullopt) &&
         an_expected(coracle::unexpected<long>(8)).error() == 8 &&
         an_expected_of_nothing(coracle::unexpected<long>(9)).error() == 9;
}
}  // namespace

int main() {
  const int in_first = take(second_kinds()), in_second = take_in_second(first_kinds());
  std::printf("%d and %d, both should be 74\n", in_first, in_second);
  return in_first == 74 && in_second == 74 && ends_early() ? 0 : 1;
}
