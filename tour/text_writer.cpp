// tour/text_writer.cpp -- shows the report in a terminal while it comes into being.
// SPDX-License-Identifier: MIT
#include "text_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "format.hpp"
#include "text_picture.hpp"
#include "text_timeline.hpp"

namespace tour {
namespace {
std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

// What is too wide is taken from the widest column, and from one whose words fit no more only if there is no
// other.
std::vector<std::size_t> column_widths(const table& shown, std::size_t most) {
  std::vector<std::size_t> widths(shown.columns.size()), least(shown.columns.size());
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i != cells.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(cells[i]));
      least[i] = std::max(least[i], is_number(cells[i]) ? display_width(cells[i]) : longest_word(cells[i]));
    }
  };
  measure(shown.columns);
  for (const auto& row : shown.rows) measure(row);
  for (;;) {
    std::size_t all = 2 * (widths.size() - 1), widest = 0;
    for (const std::size_t width : widths) all += width;
    if (all <= most) return widths;
    for (std::size_t i = 1; i != widths.size(); ++i) {
      const bool yields = widths[i] > least[i], yielded = widths[widest] > least[widest];
      if (yields != yielded ? yields : widths[i] > widths[widest]) widest = i;
    }
    --widths[widest];
  }
}

// A cell that is too long for its column goes on in the next line.
std::vector<std::string> table_lines(const std::vector<std::string>& cells,
                                     const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> pieces;
  std::size_t height = 1;
  for (std::size_t i = 0; i != cells.size(); ++i) {
    pieces.push_back(wrapped(cells[i], widths[i]));
    height = std::max(height, pieces[i].size());
  }
  std::vector<std::string> lines(height);
  for (std::size_t row = 0; row != height; ++row) {
    std::string& line = lines[row];
    for (std::size_t i = 0; i != cells.size(); ++i) {
      const std::string piece = row < pieces[i].size() ? pieces[i][row] : "";
      if (i) line += "  ";
      line += i && is_number(cells[i]) ? fitted_right(piece, widths[i]) : fitted(piece, widths[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
  }
  return lines;
}

// Eighths of a column, so that small differences show.
std::string drawn_bar(double share, std::size_t width) {
  static constexpr const char* partial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(share * static_cast<double>(width) * 8));
  return repeated("█", eighths / 8) + partial[eighths % 8];
}

// The value of a curve at x, or the last one before; NaN behind its end.
double value_at(const curve& line, double x) {
  if (line.points.empty() || x > line.points.back().first) return std::nan("");
  double value = line.points.front().second;
  for (const auto& [at, y] : line.points) {
    if (at <= x) value = y;
  }
  return value;
}

// Of all x in the chart: about eight, evenly spread over the logarithmic axis.
std::vector<double> chosen_places(const curve_chart& chart) {
  const curve* longest = &chart.curves.front();
  for (const curve& each : chart.curves) {
    if (each.points.size() > longest->points.size()) longest = &each;
  }
  std::vector<double> places;
  const std::size_t step = std::max<std::size_t>(1, (longest->points.size() + 7) / 8);
  for (std::size_t i = 0; i < longest->points.size(); i += step) places.push_back(longest->points[i].first);
  if (!longest->points.empty() && places.back() != longest->points.back().first) {
    places.push_back(longest->points.back().first);
  }
  return places;
}
}  // namespace

std::string text_writer::dressed(const char* code, const std::string& text) const {
  return coloured_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

void text_writer::put(const std::string& line) {
  std::printf("%*s%s\n", static_cast<int>(indent), "", line.c_str());
  after_gap_ = false;
}
void text_writer::put_title(const std::string& title) {
  for (const std::string& line : wrapped(title, text_width())) put(bold(line));
}
void text_writer::put_drawing(const std::string& title, const std::vector<std::string>& lines) {
  gap();
  put_title(title);
  for (const std::string& line : lines) put(line);
  gap();
}
void text_writer::gap() {
  if (!after_gap_) std::printf("\n");
  after_gap_ = true;
}

void text_writer::begin(const report& whole) {
  const std::string title = "coracle: a tour of C++ coroutines, measured while you watch";
  for (const std::string& line : wrapped(title, width_)) std::printf("%s\n", bold(line).c_str());
  const std::string about = whole.compiler + ", " + plural(whole.hardware_threads, "hardware thread") +
                            ". Every figure below comes from this run.";
  for (const std::string& line : wrapped(about, width_)) std::printf("%s\n", line.c_str());
}

void text_writer::begin_section(std::size_t number, const std::string& name, const std::string& title) {
  after_claim_ = false;
  const std::string mark = "── " + std::to_string(number) + " ";
  auto lines = wrapped(name + ": " + title, width_ - display_width(mark) - 1);
  lines.front().insert(0, mark);
  lines.back() += " ";
  const std::size_t used = display_width(lines.back());
  lines.back() += repeated("─", width_ - std::min(used, width_));
  gap();
  for (const std::string& line : lines) std::printf("%s\n", bold(line).c_str());
  std::fflush(stdout);
  after_gap_ = false;
}

void text_writer::show(const item& shown) {
  const bool is_claim = std::holds_alternative<claim>(shown);
  if (after_claim_ && !is_claim) gap();
  after_claim_ = is_claim;
  std::visit([this](const auto& each) { write(each); }, shown);
  std::fflush(stdout);
}

void text_writer::write(const paragraph& shown) {
  for (const std::string& line : wrapped(shown.text, text_width())) put(line);
}

void text_writer::write(const listing& shown) {
  std::size_t from = 0;
  while (from < shown.text.size()) {
    const std::size_t end = std::min(shown.text.find('\n', from), shown.text.size());
    put(dressed("36", "  " + shown.text.substr(from, end - from)));
    from = end + 1;
  }
}

void text_writer::write(const table& shown) {
  const auto widths = column_widths(shown, text_width());
  gap();
  put_title(shown.title);
  const auto titles = table_lines(shown.columns, widths);
  for (const std::string& line : titles) put(&line == &titles.back() ? dressed("4", line) : line);
  for (const auto& row : shown.rows) {
    for (const std::string& line : table_lines(row, widths)) put(line);
  }
  gap();
}

void text_writer::write(const bar_chart& shown) {
  std::size_t label_width = 0, value_width = 0;
  double largest = 0;
  for (const bar& each : shown.bars) {
    label_width = std::max(label_width, display_width(each.label));
    value_width = std::max(value_width, display_width(each.shown));
    largest = std::max(largest, each.value);
  }
  constexpr std::size_t least_bar = 8, between = 4;
  value_width = std::min(value_width, text_width() / 2);
  label_width = std::min(label_width, text_width() - value_width - between - least_bar);
  const std::size_t room = text_width() - label_width - value_width - between;
  gap();
  put_title(shown.title);
  for (const bar& each : shown.bars) {
    const double share = largest > 0 ? each.value / largest : 0;
    put(fitted(each.label, label_width) + "  " + fitted_right(each.shown, value_width) +
        (share > 0 ? "  " + dressed("32", drawn_bar(share, room)) : ""));
  }
  gap();
}

void text_writer::write(const curve_chart& shown) {
  table rows;
  rows.title = shown.title;
  rows.columns.push_back(shown.x_label);
  for (const curve& each : shown.curves) rows.columns.push_back(each.name);
  for (const double x : chosen_places(shown)) {
    std::vector<std::string> row{grouped(static_cast<std::uint64_t>(x))};
    for (const curve& each : shown.curves) {
      const double y = value_at(each, x);
      row.push_back(std::isnan(y) ? each.end_mark : byte_size(y));
    }
    rows.rows.push_back(std::move(row));
  }
  write(rows);
}

void text_writer::write(const memory_picture& shown) {
  put_drawing(shown.title, drawn_memory(shown, text_width()));
}
void text_writer::write(const timeline& shown) {
  put_drawing(shown.title, drawn_timeline(shown, text_width()));
}
void text_writer::write(const level_chart& shown) {
  put_drawing(shown.title, drawn_levels(shown, text_width()));
}

void text_writer::write(const claim& shown) {
  const auto lines = wrapped(shown.text, text_width() - 6);
  for (std::size_t i = 0; i != lines.size(); ++i) {
    const std::string mark = i ? "    " : shown.holds ? dressed("32", "ok  ") : dressed("31;1", "FAIL");
    put(mark + "  " + lines[i]);
  }
}

void text_writer::end(const report& whole) {
  const std::size_t failed = whole.claims(false);
  gap();
  std::printf("%s\n", bold(repeated("─", width_)).c_str());
  std::printf("%s checked in this run, %s.\nIt took %s.\n",
              plural(whole.claims(true) + failed, "claim").c_str(),
              failed ? dressed("31;1", grouped(failed) + " FAILED").c_str() : "none failed",
              duration(whole.seconds * 1e9).c_str());
  std::fflush(stdout);
}
}  // namespace tour
