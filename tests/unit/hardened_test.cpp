// tests/unit/hardened_test.cpp -- CORACLE_HARDENED sets the compiler flags that it promises.
// SPDX-License-Identifier: MIT
#if defined(CORACLE_TEST_HARDENED)
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"

#if defined(__OPTIMIZE__)
static_assert(_FORTIFY_SOURCE == 3);
#endif
#if defined(__x86_64__)
static_assert(__CET__ == 3);
#endif

namespace {
volatile std::size_t three = 3, twenty = 20;

TEST_CASE("hardened: an index past the end of a vector ends the program") {
  const std::string said = coracle_test::abort_message([] {
    std::vector<int> numbers(std::size_t{three});
    numbers[three] = 1;
  });
  CHECK(said.find("Assertion") != std::string::npos);
}
#if defined(__OPTIMIZE__)
TEST_CASE("hardened: a copy past the end of what is on the heap ends the program") {
  const std::string said = coracle_test::abort_message([] {
    char* const room = static_cast<char*>(std::malloc(three));
    std::memset(room, 1, twenty);
    static_cast<void>(*static_cast<volatile char*>(room));
  });
  CHECK(said.find("buffer overflow detected") != std::string::npos);
}
#endif
[[gnu::noinline]] void overrun(std::size_t size) {
  char room[8];
  for (std::size_t i = 0; i != size; ++i) static_cast<volatile char*>(room)[i] = 0;
}
TEST_CASE("hardened: an overrun of an array on the stack ends the program") {
  const std::string said = coracle_test::abort_message([] { overrun(twenty * twenty); });
  CHECK(said.find("stack smashing detected") != std::string::npos);
}
}  // namespace
#endif
