// expect: interleave needs a group size (or none), a range
// tests/compile_fail/interleave_istream.cpp -- the elements of an input range do not stay where they are.
// SPDX-License-Identifier: MIT
#include <coracle/compose/interleave.hpp>
#include <ranges>
#include <sstream>

void wrong(std::istream& from) {
  auto numbers = std::ranges::subrange(std::istream_iterator<int>(from), std::istream_iterator<int>());
  auto make = [](auto& elements) -> coracle::interleaved {
    while (elements.next()) co_await coracle::prefetch(&elements);
  };
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::interleave(48, numbers, make);
#else
  static_cast<void>(numbers);
  static_cast<void>(make);
#endif
}
