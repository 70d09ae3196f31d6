// coracle/net/detail/delimiter_search.hpp -- find a delimiter in text that arrives in pieces.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace coracle::net::detail {
/// Looks at each character of the text once, whatever the delimiter and the pieces are: at most two comparisons a character,
/// and two for each of the delimiter. D. Knuth, J. Morris, V. Pratt, "Fast pattern matching in strings", SIAM Journal on
/// Computing 6 (1977).
template <class Char>
class delimiter_search {
 public:
  static constexpr std::size_t not_found = static_cast<std::size_t>(-1);

  /// Requires: `delimiter` is not empty, and outlives this. Allocates for one of more than 8 characters.
  delimiter_search(const Char* delimiter, std::size_t size)
      : delimiter_(delimiter),
        size_(size),
        borders_(size > most_short ? new std::size_t[size] : short_borders_) {
    borders_[0] = 0;
    for (std::size_t end = 1; end != size; ++end) borders_[end] = extended(borders_[end - 1], delimiter[end]);
  }
  delimiter_search(const delimiter_search&) = delete;
  delimiter_search& operator=(const delimiter_search&) = delete;
  ~delimiter_search() {
    if (borders_ != short_borders_) delete[] borders_;
  }

  /// `more` follows what was given before. Returns how many of its characters come before the end of the first delimiter.
  /// Not called again after it has found one.
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
  static constexpr std::size_t most_short = 8;

  /// How much of the delimiter matches behind `next`, if `matched` does before it.
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
  std::size_t matched_ = 0;  // so many characters of the delimiter end the text
  // Of each beginning of the delimiter, how long the longest shorter one is that also ends it.
  std::size_t short_borders_[most_short];
  std::size_t* const borders_;
};
}  // namespace coracle::net::detail
