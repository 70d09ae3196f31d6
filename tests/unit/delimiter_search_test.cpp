// tests/unit/delimiter_search_test.cpp -- finds the first delimiter in text that arrives in pieces.
// SPDX-License-Identifier: MIT
#include "../../src/net/delimiter_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/testing/simulation/detail/random_source.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {
using coracle::net::detail::delimiter_search;

/// Returns the end of the first delimiter in text that arrives in pieces of the given size; 0 if there is
/// none.
std::size_t end_of_first(std::string_view text, std::string_view delimiter, std::size_t piece) {
  delimiter_search<char> search{delimiter.data(), delimiter.size()};
  for (std::size_t begin = 0; begin < text.size(); begin += piece) {
    const std::size_t found = search.find_end_in(text.data() + begin, std::min(piece, text.size() - begin));
    if (found != search.not_found) return begin + found;
  }
  return 0;
}
std::size_t expected_end(std::string_view text, std::string_view delimiter) {
  const std::size_t found = text.find(delimiter);
  return found == text.npos ? 0 : found + delimiter.size();
}

TEST_CASE("delimiter_search: finds what std::string_view::find() finds, however the text is divided") {
  coracle::testing::random_source random{7};
  const auto word = [&](std::size_t longest) {
    std::string made(1 + random.below(longest), 'a');
    for (char& each : made) each = static_cast<char>('a' + random.below(2));
    return made;
  };
  std::size_t found = 0;
  for (int i = 0; i != 20'000; ++i) {
    const std::string text = word(60), delimiter = word(12);
    const std::size_t end = end_of_first(text, delimiter, 1 + random.below(text.size()));
    REQUIRE(end == expected_end(text, delimiter));
    found += end != 0;
  }
  CHECK(found > 5'000);
  CHECK(found < 15'000);
}

TEST_CASE("delimiter_search: a null character is one like others") {
  const std::string_view delimiter{"\0\0x", 3};
  CHECK(end_of_first({"a\0\0\0xb", 6}, delimiter, 2) == 5);
}

/// Counts comparisons.
struct counted_char {
  char value;
  static inline std::size_t comparisons = 0;
  friend bool operator==(counted_char a, counted_char b) {
    ++comparisons;
    return a.value == b.value;
  }
};
std::vector<counted_char> counted(std::string_view text) {
  std::vector<counted_char> all;
  for (const char each : text) all.push_back({each});
  return all;
}
std::size_t comparisons_for(std::string_view text, std::string_view delimiter, std::size_t piece) {
  const std::vector<counted_char> looked_at = counted(text), looked_for = counted(delimiter);
  counted_char::comparisons = 0;
  delimiter_search<counted_char> search{looked_for.data(), looked_for.size()};
  for (std::size_t begin = 0; begin < looked_at.size(); begin += piece) {
    const std::size_t size = std::min(piece, looked_at.size() - begin);
    CHECK(search.find_end_in(looked_at.data() + begin, size) == search.not_found);
  }
  return counted_char::comparisons;
}

TEST_CASE("delimiter_search: makes at most two comparisons a character, of the text and of the delimiter") {
  constexpr std::size_t n = 20'000, m = 1'000;
  const std::string same(n, 'a'), half(m, 'a');
  std::string alternating, fibonacci = "a", before = "b";
  while (alternating.size() < n) alternating += "ab";
  while (fibonacci.size() < n) before = std::exchange(fibonacci, fibonacci + before);
  const struct {
    std::string text, delimiter;
  } hard[] = {{same, half + "b"},
              {same, "b" + half},
              {same, half + "b" + half},
              {alternating, alternating.substr(0, m) + "b"},
              {fibonacci, fibonacci.substr(0, m) + "c"},
              {same, "b"}};
  for (const auto& [text, delimiter] : hard) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size()}) {
      CHECK(comparisons_for(text, delimiter, piece) <= 2 * (text.size() + delimiter.size()));
    }
  }
}
}  // namespace
