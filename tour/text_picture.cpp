// tour/text_picture.cpp -- a memory picture drawn with box characters.
// SPDX-License-Identifier: MIT
#include "text_picture.hpp"

#include <algorithm>

#include "format.hpp"

namespace tour {
namespace {
constexpr std::size_t inner_width = 27, column_width = inner_width + 4, gap = 1;

std::string framed(const std::string& text) { return "│ " + fitted(text, inner_width) + " │"; }

void draw_box(const memory_box& box, std::vector<std::string>& lines) {
  const std::string place = address(box.address);
  lines.push_back(framed(fitted(box.name, inner_width - place.size() - 1) + " " + place));
  if (box.size) lines.push_back(framed(byte_size(static_cast<double>(box.size))));
  for (const std::string& note : box.notes) {
    for (const std::string& line : wrapped(note, inner_width)) lines.push_back(framed(line));
  }
}

std::vector<std::string> draw_column(const memory_column& column) {
  std::vector<std::string> lines{column.title};
  if (column.boxes.empty()) {
    lines.push_back("  (nothing)");
    return lines;
  }
  const std::string rule = repeated("─", inner_width + 2);
  for (const memory_box& box : column.boxes) {
    lines.push_back((&box == &column.boxes.front() ? "┌" + rule + "┐" : "├" + rule + "┤"));
    draw_box(box, lines);
  }
  lines.push_back("└" + rule + "┘");
  return lines;
}

std::vector<std::string> draw_side_by_side(const std::vector<std::vector<std::string>>& columns) {
  std::size_t height = 0;
  for (const auto& each : columns) height = std::max(height, each.size());
  std::vector<std::string> lines(height);
  for (std::size_t row = 0; row != height; ++row) {
    for (const auto& column : columns) {
      lines[row] += fitted(row < column.size() ? column[row] : "", column_width + gap);
    }
    while (!lines[row].empty() && lines[row].back() == ' ') lines[row].pop_back();
  }
  return lines;
}
}  // namespace

std::vector<std::string> drawn_memory(const memory_picture& picture, std::size_t width) {
  const std::size_t most = std::max<std::size_t>(1, (width + gap) / (column_width + gap));
  std::vector<std::string> lines;
  for (std::size_t next = 0; next < picture.columns.size();) {
    std::vector<std::vector<std::string>> columns;
    while (next != picture.columns.size() && columns.size() != most) {
      columns.push_back(draw_column(picture.columns[next++]));
    }
    for (std::string& line : draw_side_by_side(columns)) lines.push_back(std::move(line));
  }
  return lines;
}
}  // namespace tour
