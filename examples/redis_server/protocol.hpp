// examples/redis_server/protocol.hpp -- RESP, the protocol of Redis: commands in, replies out.
// SPDX-License-Identifier: MIT
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace redis {
/// The words of a command: its name, then the arguments.
using command = std::vector<std::string>;

/// What a client sent is no command. Its connection is closed.
class protocol_error : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

inline bool to_number(std::string_view text, std::int64_t& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return !text.empty() && result.ec == std::errc{} && result.ptr == end;
}

// ---- commands -----------------------------------------------------------------------------------------

constexpr std::int64_t most_words = 1 << 16, longest_word = 16 << 20, longest_line = 64 << 10;

/// Takes commands from the front of a text that grows at its end.
class command_reader {
 public:
  explicit command_reader(std::string_view text) : text_(text) {}

  /// Returns false if the text ends before the command does. Throws protocol_error.
  bool next(command& words) {
    std::size_t at = taken_;
    words.clear();
    std::string_view line;
    if (!take_line(at, line)) return false;
    if (!line.starts_with('*')) {
      split(line, words);
    } else if (!take_words(at, number_of(line, most_words), words)) {
      return false;
    }
    taken_ = at;
    return true;
  }
  /// Returns the size of the commands that have been taken.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  bool take_line(std::size_t& at, std::string_view& line) const {
    const std::size_t end = text_.find('\n', at);
    const std::size_t size = (end == std::string_view::npos ? text_.size() : end) - at;
    if (size > longest_line) throw protocol_error("too big inline request");
    if (end == std::string_view::npos) return false;
    line = text_.substr(at, size);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    return true;
  }
  static std::int64_t number_of(std::string_view line, std::int64_t most) {
    std::int64_t number = 0;
    if (!to_number(line.substr(1), number) || number < 0 || number > most)
      throw protocol_error("invalid length");
    return number;
  }
  bool take_words(std::size_t& at, std::int64_t count, command& words) const {
    for (; count != 0; --count) {
      std::string_view line;
      if (!take_line(at, line)) return false;
      if (!line.starts_with('$')) throw protocol_error("expected '$'");
      const auto size = static_cast<std::size_t>(number_of(line, longest_word));
      if (text_.size() - at < size + 2) return false;
      words.emplace_back(text_.substr(at, size));
      at += size + 2;
    }
    return true;
  }
  /// A command that a person has typed.
  static void split(std::string_view line, command& words) {
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      if (!word.empty()) words.emplace_back(word);
      line.remove_prefix(word.size() == line.size() ? word.size() : word.size() + 1);
    }
  }

  const std::string_view text_;
  std::size_t taken_ = 0;
};

// ---- replies, each appended to a text -----------------------------------------------------------------

inline void put_number(std::string& to, char kind, std::int64_t number) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, number);
  to.append(1, kind).append(text, end.ptr).append("\r\n");
}
inline void put_integer(std::string& to, std::int64_t number) { put_number(to, ':', number); }
inline void put_array(std::string& to, std::size_t size) {
  put_number(to, '*', static_cast<std::int64_t>(size));
}
inline void put_text(std::string& to, std::string_view text) {
  put_number(to, '$', static_cast<std::int64_t>(text.size()));
  to.append(text).append("\r\n");
}
inline void put_nothing(std::string& to) { to.append("$-1\r\n"); }
inline void put_status(std::string& to, std::string_view text) { to.append("+").append(text).append("\r\n"); }
inline void put_error(std::string& to, std::string_view text) { to.append("-").append(text).append("\r\n"); }
/// A command as a client sends it, and as the append-only file keeps it.
inline void put_command(std::string& to, const command& words) {
  put_array(to, words.size());
  for (const std::string& word : words) put_text(to, word);
}
}  // namespace redis
