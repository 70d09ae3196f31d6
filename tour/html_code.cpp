// tour/html_code.cpp -- C++ source text with its words coloured.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "format.hpp"
#include "html_writer.hpp"

namespace tour {
namespace {
constexpr std::array<std::string_view, 3> coroutine_words{"co_await", "co_return", "co_yield"};
constexpr std::array<std::string_view, 24> keywords{
    "auto",   "bool",     "char", "class",    "const",  "else",   "false", "for",
    "if",     "int",      "long", "noexcept", "return", "sizeof", "std",   "struct",
    "static", "template", "this", "true",     "using",  "void",   "while", "operator"};

template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool is_letter(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::size_t end_of_word(std::string_view line) {
  return static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_letter) - line.begin());
}
std::size_t end_of_string(std::string_view line) {
  const std::size_t end = line.find('"', 1);
  return end == line.npos ? line.size() : end + 1;
}

struct piece {
  std::string_view text;
  std::string_view kind;  ///< the class of its element; empty: no element
};
piece first_piece(std::string_view line) {
  const char c = line.front();
  if (line.starts_with("//")) return {line, "comment"};
  if (c == '"') return {line.substr(0, end_of_string(line)), "string"};
  if (!is_letter(c)) return {line.substr(0, 1), ""};
  const std::string_view word = line.substr(0, end_of_word(line));
  if (std::isdigit(static_cast<unsigned char>(c)) != 0) return {word, "number"};
  if (is_one_of(coroutine_words, word)) return {word, "coroutine"};
  if (is_one_of(keywords, word)) return {word, "keyword"};
  return {word, line.substr(word.size()).starts_with('(') ? "call" : ""};
}

std::string coloured_line(std::string_view line) {
  std::string html;
  while (!line.empty()) {
    const piece next = first_piece(line);
    if (next.kind.empty()) {
      html += escaped(next.text);
    } else {
      html += "<span class=\"" + std::string(next.kind) + "\">" + escaped(next.text) + "</span>";
    }
    line.remove_prefix(next.text.size());
  }
  return html;
}
}  // namespace

std::string coloured_code(std::string_view text) {
  std::string html = "<pre>";
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    html += "<span class=\"line\" data-line=\"" + grouped(number) + "\">" +
            coloured_line(text.substr(0, end)) + "\n</span>";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return html + "</pre>\n";
}
}  // namespace tour
