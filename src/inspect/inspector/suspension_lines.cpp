// SPDX-License-Identifier: MIT
#include "suspension_lines.hpp"

#include <charconv>
#include <fstream>
#include <istream>
#include <optional>
#include <utility>

namespace coracle::detail {
namespace {
constexpr std::string_view head = "coracle lines 1 ";

/// Takes what is in front of the separator, which goes, too; everything if there is none.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}
template <class Integer>
bool read(std::string_view digits, Integer& to, int base = 10) {
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result result = std::from_chars(digits.data(), end, to, base);
  return result.ec == std::errc() && result.ptr == end;
}

/// `3a10 48 2 2:41 4:43 /src/server.cpp`.
std::optional<std::pair<std::uintptr_t, function_lines>> parse_row(std::string_view row) {
  std::uintptr_t function = 0;
  function_lines found;
  if (!read(take(row, ' '), function, 16) || !read(take(row, ' '), found.place) ||
      !read(take(row, ' '), found.size) || found.size == 0 || found.size > sizeof(std::uintptr_t))
    return std::nullopt;
  while (!row.empty() && row.front() != '/') {
    std::string_view line = take(row, ' ');
    std::uintptr_t state = 0;
    if (!read(take(line, ':'), state) || !read(line, found.lines[state])) return std::nullopt;
  }
  found.file = row;
  return std::pair(function, std::move(found));
}
}  // namespace

std::map<std::uintptr_t, function_lines> parse_lines(std::istream& from, std::string_view build_id) {
  std::map<std::uintptr_t, function_lines> found;
  const std::string expected = std::string(head).append(build_id) + '\n';
  std::string row(expected.size(), '\0');
  from.read(row.data(), static_cast<std::streamsize>(row.size()));
  if (build_id.empty() || row != expected) return found;
  while (std::getline(from, row)) {
    auto function = parse_row(row);
    if (!function) break;
    found.insert(std::move(*function));
  }
  return found;
}

suspension_lines::place suspension_lines::of(const live_coroutine& each, const coroutine_search& in) {
  const function_symbol function = in.function_of(each);
  if (!function.in) return {};
  const auto [known, is_new] = known_.try_emplace(function.in);
  if (is_new) {
    std::ifstream file(std::string(function.in->path.c_str()) + ".lines", std::ios::binary);
    known->second = parse_lines(file, build_id_of(*function.in).c_str());
  }
  const auto its = known->second.find(function.begin - function.in->bias);
  if (its == known->second.end()) return {};
  const auto line = its->second.lines.find(in.number_in(each, its->second.place, its->second.size));
  return line != its->second.lines.end() ? place{its->second.file, line->second} : place{};
}

void suspension_lines::forget_missing() {
  std::erase_if(known_, [](const auto& each) { return each.second.empty(); });
}
}  // namespace coracle::detail
