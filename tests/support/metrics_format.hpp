// tests/support/metrics_format.hpp -- reads metrics as Prometheus does.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace coracle_test {
/// Splits off and returns the text before the first `end`, or all of it.
inline std::string_view cut(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}
inline bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}
/// Returns true if the text is `{name="value",...}` with the escapes of the format. Splits it off.
inline bool takes_labels(std::string_view& text) {
  do {
    text.remove_prefix(1);
    if (!is_name(cut(text, '=')) || text.empty() || text[0] != '"') return false;
    for (text.remove_prefix(1); !text.empty() && text[0] != '"'; text.remove_prefix(1)) {
      if (text[0] != '\\') continue;
      text.remove_prefix(1);
      if (text.empty() || (text[0] != '\\' && text[0] != '"' && text[0] != 'n')) return false;
    }
    if (text.size() < 2) return false;
    text.remove_prefix(1);
  } while (text[0] == ',');
  if (text[0] != '}') return false;
  text.remove_prefix(1);
  return true;
}
/// Returns what is wrong with the text as Prometheus reads it, or nothing.
inline std::string error_in_metrics(std::string_view text) {
  std::set<std::string_view> families, samples;
  std::string_view family;
  if (!text.ends_with('\n')) return "the last line does not end";
  while (!text.empty()) {
    const std::string_view line = cut(text, '\n');
    std::string_view rest = line;
    if (line.starts_with("# HELP ")) {
      rest.remove_prefix(7);
      family = cut(rest, ' ');
      if (!is_name(family) || rest.empty() || !families.insert(family).second) return std::string(line);
      const std::string_view type = cut(text, '\n');
      const std::string expected = "# TYPE " + std::string(family);
      if (type != expected + " gauge" && type != expected + " counter") return std::string(type);
      if (type.ends_with("counter") != family.ends_with("_total")) return std::string(type);
      continue;
    }
    const std::size_t end = line.rfind(' ');
    if (!line.starts_with(family) || family.empty() || end == std::string_view::npos)
      return std::string(line);
    rest.remove_prefix(family.size());
    if (rest[0] == '{' && !takes_labels(rest)) return std::string(line);
    char* after = nullptr;
    const std::string value(rest.substr(1));
    std::strtod(value.c_str(), &after);
    if (rest[0] != ' ' || value.empty() || *after != '\0') return std::string(line);
    if (!samples.insert(line.substr(0, end)).second) return std::string(line);
  }
  return {};
}
}  // namespace coracle_test
