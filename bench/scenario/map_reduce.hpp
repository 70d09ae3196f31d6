// bench/scenario/map_reduce.hpp -- words to count; shared with the rivals.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "work.hpp"

namespace coracle_bench {
constexpr std::size_t documents = 1000;
constexpr std::size_t words_of_document = 1000;
using word_counts = std::map<std::string_view, long>;

/// Words of one to four letters, from an alphabet of ten.
inline std::string text_of_documents(std::size_t count) {
  std::string all;
  std::uint64_t random = 42;
  for (std::size_t i = 0; i != count * words_of_document; ++i) {
    random = spend(random, 1);
    for (std::uint64_t letters = 1 + random % 4, rest = random >> 8; letters != 0; --letters, rest /= 10) {
      all += static_cast<char>('a' + rest % 10);
    }
    all += ' ';
  }
  return all;
}
/// Document `i` of `count`; each begins and ends at a word boundary.
inline std::string_view document(std::string_view all, std::size_t i, std::size_t count) {
  const auto start = [&](std::size_t n) {
    return n == 0 ? 0 : n == count ? all.size() : all.find(' ', all.size() * n / count) + 1;
  };
  return all.substr(start(i), start(i + 1) - start(i));
}
inline word_counts count_words(std::string_view text) {
  word_counts counts;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    ++counts[text.substr(0, end)];
    text.remove_prefix(end + 1);
  }
  return counts;
}
inline void add(word_counts& sum, const word_counts& other) {
  for (const auto& [word, count] : other) sum[word] += count;
}
inline long total(const word_counts& counts) {
  long all = 0;
  for (const auto& each : counts) all += each.second;
  return all;
}
}  // namespace coracle_bench
