// src/net/delimiter_search.hpp -- find a delimiter in text that arrives in pieces.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace coracle::net::detail {
/// Examines each character of the text once, for any delimiter and any pieces: at most two comparisons per
/// character of the text, and two per character of the delimiter. D. Knuth, J. Morris, V. Pratt, "Fast
/// pattern matching in strings", SIAM Journal on Computing 6 (1977).
template <class Char>
class delimiter_search {
 public:
  static constexpr std::size_t not_found = static_cast<std::size_t>(-1);

  /// Allocates for a delimiter of more than 8 characters. Requires: `delimiter` is not empty, and outlives
  /// this.
  delimiter_search(const Char* delimiter, std::size_t size)
      : delimiter_(delimiter),
        size_(size),
        borders_(size > max_short ? new std::size_t[size] : short_borders_) {
    borders_[0] = 0;
    for (std::size_t end = 1; end != size; ++end) borders_[end] = extended(borders_[end - 1], delimiter[end]);
  }
  delimiter_search(const delimiter_search&) = delete;
  delimiter_search& operator=(const delimiter_search&) = delete;
  ~delimiter_search() {
    if (borders_ != short_borders_) delete[] borders_;
  }

  /// `more` continues the text of the previous calls. Returns the number of its characters up to the end of
  /// the first delimiter, or not_found. Requires: no delimiter has been found before.
  [[nodiscard]] std::size_t find_end_in(const Char* more, std::size_t count) {
    for (std::size_t at = 0; at != count;) {
      if (matched_ == 0) at += up_to_first(more + at, count - at);
      if (at == count) break;
      matched_ = extended(matched_, more[at++]);
      if (matched_ == size_) return at;
    }
    return not_found;
  }

 private:
  static constexpr std::size_t max_short = 8;

  /// Returns how many characters of the delimiter match after `next`, given that `matched` of them match
  /// before it.
  std::size_t extended(std::size_t matched, const Char& next) {
    while (!(next == delimiter_[matched])) {
      if (matched == 0) return 0;
      matched = borders_[matched - 1];
    }
    return matched + 1;
  }
  std::size_t up_to_first(const Char* text, std::size_t count) const {
    if constexpr (std::is_same_v<Char, char>) {
      const void* const found = std::memchr(text, *delimiter_, count);
      return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text) : count;
    } else {
      std::size_t at = 0;
      while (at != count && !(text[at] == *delimiter_)) ++at;
      return at;
    }
  }

  const Char* const delimiter_;
  const std::size_t size_;
  std::size_t matched_ = 0;  // the length of the longest prefix of the delimiter that ends the text
  // For each prefix of the delimiter, the length of its longest border: a proper prefix that is also a
  // suffix.
  std::size_t short_borders_[max_short];
  std::size_t* const borders_;
};
}  // namespace coracle::net::detail
