// SPDX-License-Identifier: MIT
#include "symbol_names.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace coracle::detail {
namespace {
bool is_digit(char letter) noexcept { return letter >= '0' && letter <= '9'; }
bool is_lower(char letter) noexcept { return letter >= 'a' && letter <= 'z'; }

/// Parses the names in an `<encoding>` of the Itanium ABI.
class name_reader {
 public:
  name_reader(const char* at, short_name& to) noexcept : at_(at), to_(to) {}

  /// Returns false if it finds something else.
  bool read() noexcept {
    if (*at_ == 'Z') return read_lambda();
    if (*at_ == 'L') ++at_;
    if (*at_ != 'N') return (!is_in_std() || read_name()) && read_name() && skip_arguments();
    ++at_;
    while (*at_ == 'K' || *at_ == 'V' || *at_ == 'r' || *at_ == 'R' || *at_ == 'O') ++at_;
    while (*at_ != 'E') {
      if (!read_name() || !skip_arguments()) return false;
    }
    return written_;
  }

 private:
  bool read_lambda() noexcept {
    if (!std::strstr(at_, "Ul") && !std::strstr(at_, "$_")) return false;
    ++at_;
    to_.add("lambda in ");
    return read();
  }
  [[nodiscard]] bool is_in_std() const noexcept { return at_[0] == 'S' && at_[1] == 't'; }
  bool read_name() noexcept {
    if (is_in_std()) {
      at_ += 2;
      add("std", 3);
      return true;
    }
    while (*at_ == 'L') ++at_;  // internal linkage
    if (at_[0] == 'c' && at_[1] == 'l') {
      at_ += 2;
      add("operator()", 10);
      return skip_tags();
    }
    if (!is_digit(*at_)) return false;
    const std::size_t size = read_number();
    if (std::strlen(at_) < size) return false;
    static constexpr char anonymous[] = "_GLOBAL__N_";
    if (size < sizeof anonymous - 1 || std::memcmp(at_, anonymous, sizeof anonymous - 1) != 0) add(at_, size);
    at_ += size;
    return skip_tags();
  }
  /// Skips ABI tags. Returns false if it finds something else.
  bool skip_tags() noexcept {
    while (*at_ == 'B') {
      ++at_;
      if (!is_digit(*at_)) return false;
      const std::size_t tag = read_number();
      if (std::strlen(at_) < tag) return false;
      at_ += tag;
    }
    return true;
  }
  void add(const char* name, std::size_t size) noexcept {
    if (written_) to_.add("::");
    to_.add(name, size);
    written_ = true;
  }
  std::size_t read_number() noexcept {
    std::size_t number = 0;
    while (is_digit(*at_) && number < 100'000) number = number * 10 + static_cast<std::size_t>(*at_++ - '0');
    return number;
  }

  /// Skips what numbers a local type, as `0_`.
  void skip_discriminator() noexcept {
    read_number();
    if (*at_ == '_') ++at_;
  }

  /// Skips an operator of two letters in an expression, whose first is `letter`. Returns what it opens: X, an
  /// expression that ends with E; N, a name that does; or nothing.
  char skip_operator(char letter) noexcept {
    const char second = *at_++;
    if (letter == 's' && second == 'r') return is_digit(*at_) ? 'N' : '\0';
    const bool ends = second == 'l' && (letter == 'c' || letter == 't' || letter == 'i');  // a call, braces
    return ends ? 'X' : '\0';
  }

  /// Skips `I...E`, if present. Each of the letters below opens a part that ends with E; an L, a literal,
  /// continues with a type and then digits, and a Z, the function of a local type, with that type.
  bool skip_arguments() noexcept {
    if (*at_ != 'I') return true;
    char open[32];
    bool has_type[32];
    std::size_t depth = 0;
    do {
      const bool in_literal = depth != 0 && open[depth - 1] == 'L';
      const char letter = *at_;
      if (letter == '\0' || depth == sizeof open) return false;
      if (is_digit(letter) && !(in_literal && has_type[depth - 1])) {
        const std::size_t size = read_number();
        if (std::strlen(at_) < size) return false;
        at_ += size;
        if (in_literal) has_type[depth - 1] = true;
        continue;
      }
      ++at_;
      const bool in_expression = depth != 0 && open[depth - 1] == 'X';
      if (in_expression && is_lower(letter) && is_lower(*at_)) {
        if (const char opened = skip_operator(letter)) {
          open[depth] = opened;
          has_type[depth++] = false;
        }
      } else if (letter == 'D' && (*at_ == 'T' || *at_ == 't')) {  // decltype
        ++at_;
        open[depth] = 'X';
        has_type[depth++] = false;
      } else if (letter == 'E') {
        if (open[--depth] == 'U') skip_discriminator();
        if (depth != 0 && open[depth - 1] == 'L') has_type[depth - 1] = true;
      } else if (letter == 'S' && *at_) {  // a substitution: S_, S0_, St, Sa...
        if (*at_ == 't' || (*at_ >= 'a' && *at_ <= 'z')) {
          ++at_;
        } else {
          while (*at_ && *at_ != '_') ++at_;
          if (*at_) ++at_;
        }
        if (in_literal) has_type[depth - 1] = true;
      } else if (letter == 'Q') {  // a requires clause, up to the end of the arguments
        open[depth - 1] = 'X';
      } else if (letter == 'T' && (*at_ == 'k' || *at_ == 'n' || *at_ == 'p' || *at_ == 'y')) {
        ++at_;  // describes the parameter; the argument follows
      } else if (letter == 'T') {
        while (*at_ && *at_ != '_') ++at_;
        if (*at_) ++at_;
      } else if (letter == 'U' && *at_ == 't') {  // a type without a name
        ++at_;
        skip_discriminator();
      } else if (letter == '_') {  // a local type has the name of another one: _0, __10_
        if (*at_ == '_') {
          ++at_;
          skip_discriminator();
        } else if (is_digit(*at_)) {
          ++at_;
        }
      } else if ((letter == 'C' || letter == 'D') && is_digit(*at_)) {  // a constructor or destructor
        ++at_;
      } else if (letter == 'L' && (open[depth - 1] == 'N' || open[depth - 1] == 'Z')) {
        // No literal: a name with internal linkage follows.
      } else if (std::strchr("INXJFLZ", letter) || (letter == 'U' && *at_ == 'l')) {
        open[depth] = letter;
        has_type[depth++] = false;
      } else if (in_literal) {
        has_type[depth - 1] = true;
      }
    } while (depth != 0);
    return true;
  }

  const char* at_;
  short_name& to_;
  bool written_ = false;
};

void erase_all(std::string& from, std::string_view what) {
  for (std::size_t at; (at = from.find(what)) != std::string::npos;) from.erase(at, what.size());
}
}  // namespace

void append_short_name(const char* symbol, short_name& to) noexcept {
  short_name found;
  const bool is_read = symbol[0] == '_' && symbol[1] == 'Z' && name_reader(symbol + 2, found).read();
  to.add(is_read ? found.c_str() : symbol);
}

std::string demangled(const char* symbol) {
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr);
  if (!text) return symbol;
  std::string name = text;
  std::free(text);
  for (const std::string_view part :
       {"(anonymous namespace)::", "coracle::detail::", "coracle::", "links_of_one_word::", "native::"})
    erase_all(name, part);
  return name;
}
}  // namespace coracle::detail
