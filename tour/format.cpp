// tour/format.cpp -- figures and foreign text in a form that people can read.
// SPDX-License-Identifier: MIT
#include "format.hpp"

#include <array>
#include <cstdio>

namespace tour {
namespace {
struct code_point {
  std::uint32_t value = 0;
  std::size_t length = 0;  // 0: not UTF-8
};

std::size_t utf8_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

code_point decode(std::string_view text) {
  constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = utf8_length(first);
  if (length <= 1) return {first, length};
  if (length > text.size()) return {};
  std::uint32_t value = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i != length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    value = value << 6 | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < smallest[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

// Also the marks that turn the direction of writing: they would disarrange the lines around them.
bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF;
}
bool is_wide(std::uint32_t c) {
  return (c >= 0x1100 && c < 0x1160) || (c >= 0x2E80 && c < 0xA4D0) || (c >= 0xAC00 && c < 0xD7A4) ||
         (c >= 0xF900 && c < 0xFB00) || (c >= 0xFE30 && c < 0xFE70) || (c >= 0xFF00 && c < 0xFF61) ||
         (c >= 0x1F300 && c < 0x1FA00) || (c >= 0x20000 && c < 0x30000);
}
std::size_t columns_of(std::uint32_t c) {
  if (c >= 0x300 && c < 0x370) return 0;
  return is_wide(c) ? 2 : 1;
}

std::string scaled(double value, const char* unit) { return fixed(value, value < 10 ? 1 : 0) + " " + unit; }

std::string cut(std::string_view text, std::size_t width) {
  std::string kept;
  std::size_t used = 0;
  while (!text.empty()) {
    const code_point c = decode(text);
    const std::size_t length = c.length ? c.length : 1;
    if (used + columns_of(c.value) + 1 > width) break;
    used += columns_of(c.value);
    kept.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  if (width > 0) kept += "…";
  return kept;
}

// The end of the first line: bytes that fit into `width`, back to the last blank if there is one.
std::size_t first_break(std::string_view text, std::size_t width) {
  std::size_t at = 0, used = 0, blank = 0;
  while (at < text.size()) {
    const code_point c = decode(text.substr(at));
    if (text[at] == ' ') blank = at;
    used += columns_of(c.value);
    if (used > width) return blank ? blank : at;
    at += c.length ? c.length : 1;
  }
  return at;
}
}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string fixed(double number, int decimals) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.*f", decimals, number);
  return std::string(text.data(), static_cast<std::size_t>(length));
}

std::string duration(double nanoseconds) {
  if (nanoseconds < 1e3) return scaled(nanoseconds, "ns");
  if (nanoseconds < 1e6) return scaled(nanoseconds / 1e3, "us");
  if (nanoseconds < 1e9) return scaled(nanoseconds / 1e6, "ms");
  return fixed(nanoseconds / 1e9, 2) + " s";
}

std::string byte_size(double bytes) {
  if (bytes < 1024) return fixed(bytes, 0) + (bytes == 1 ? " byte" : " bytes");
  if (bytes < 1024 * 1024) return fixed(bytes / 1024, 1) + " KiB";
  if (bytes < 1024.0 * 1024 * 1024) return fixed(bytes / (1024 * 1024), 1) + " MiB";
  return fixed(bytes / (1024.0 * 1024 * 1024), 2) + " GiB";
}

std::string address(std::uintptr_t place) {
  std::array<char, 32> text{};
  const int length =
      std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(place));
  return std::string(text.data(), static_cast<std::size_t>(length));
}
std::string address(const void* place) { return address(reinterpret_cast<std::uintptr_t>(place)); }

std::string times(double ratio) { return fixed(ratio, ratio < 10 ? 1 : 0) + " times"; }

std::string plural(std::uint64_t number, std::string_view noun) {
  return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}
bool is_number(std::string_view cell) {
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9' && !cell.starts_with("0x");
}

std::string printable(std::string_view foreign) {
  std::string text;
  while (!foreign.empty()) {
    const code_point c = decode(foreign);
    const std::size_t length = c.length ? c.length : 1;
    if (c.length && !is_control(c.value)) {
      text.append(foreign.substr(0, length));
    } else {
      for (const char byte : foreign.substr(0, length)) {
        std::array<char, 8> escape{};
        std::snprintf(escape.data(), escape.size(), "\\x%02x",
                      static_cast<unsigned>(static_cast<unsigned char>(byte)));
        text += escape.data();
      }
    }
    foreign.remove_prefix(length);
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const code_point c = decode(text);
    width += columns_of(c.value);
    text.remove_prefix(c.length ? c.length : 1);
  }
  return width;
}

std::string fitted(std::string_view text, std::size_t width) {
  std::string line = display_width(text) <= width ? std::string(text) : cut(text, width);
  const std::size_t used = display_width(line);
  if (used < width) line.append(width - used, ' ');
  return line;
}
std::string fitted_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  if (used >= width) return fitted(text, width);
  return std::string(width - used, ' ').append(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = first_break(text, width);
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return lines;
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i != count; ++i) text += piece;
  return text;
}
}  // namespace tour
