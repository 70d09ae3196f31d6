// tour/text_writer.cpp -- shows the report in a terminal while it comes into being.
// SPDX-License-Identifier: MIT
#include "text_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "format.hpp"
#include "text_picture.hpp"

namespace tour {
namespace {
constexpr std::size_t page_width = 100, indent = 2, text_width = 94;

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9' && !cell.starts_with("0x");
}

std::vector<std::size_t> column_widths(const table& shown) {
  std::vector<std::size_t> widths;
  for (const std::string& title : shown.columns) widths.push_back(display_width(title));
  for (const auto& row : shown.rows) {
    for (std::size_t i = 0; i != row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  // What is too wide is taken from the widest column.
  for (;;) {
    std::size_t all = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) all += width;
    if (all <= text_width) return widths;
    *std::max_element(widths.begin(), widths.end()) -= 1;
  }
}

std::string table_line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i != cells.size(); ++i) {
    if (i) line += "  ";
    line += i && is_number(cells[i]) ? fitted_right(cells[i], widths[i]) : fitted(cells[i], widths[i]);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
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
void text_writer::gap() {
  if (!after_gap_) std::printf("\n");
  after_gap_ = true;
}

void text_writer::begin(const report& whole) {
  std::printf("%s\n", bold("coracle: a tour of C++ coroutines, measured while you watch").c_str());
  std::printf("%s, %s. Every figure below comes from this run.\n", whole.compiler.c_str(),
              plural(whole.hardware_threads, "hardware thread").c_str());
}

void text_writer::begin_section(std::size_t number, const std::string& name, const std::string& title) {
  after_claim_ = false;
  const std::string head = "── " + std::to_string(number) + " " + name + ": " + title + " ";
  gap();
  std::printf("%s\n", bold(head + repeated("─", page_width - display_width(head))).c_str());
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
  for (const std::string& line : wrapped(shown.text, text_width)) put(line);
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
  const auto widths = column_widths(shown);
  gap();
  if (!shown.title.empty()) put(bold(shown.title));
  put(dressed("4", table_line(shown.columns, widths)));
  for (const auto& row : shown.rows) put(table_line(row, widths));
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
  label_width = std::min<std::size_t>(label_width, 46);
  const std::size_t room = text_width - label_width - value_width - 4;
  gap();
  put(bold(shown.title));
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
  gap();
  put(bold(shown.title));
  for (const std::string& line : drawn_memory(shown)) put(line);
  gap();
}

void text_writer::write(const claim& shown) {
  const auto lines = wrapped(shown.text, text_width - 6);
  for (std::size_t i = 0; i != lines.size(); ++i) {
    const std::string mark = i ? "    " : shown.holds ? dressed("32", "ok  ") : dressed("31;1", "FAIL");
    put(mark + "  " + lines[i]);
  }
}

void text_writer::end(const report& whole) {
  const std::size_t failed = whole.claims(false);
  gap();
  std::printf("%s\n", bold(repeated("─", page_width)).c_str());
  std::printf("%s checked in this run, %s. %s.\n", plural(whole.claims(true) + failed, "claim").c_str(),
              failed ? dressed("31;1", grouped(failed) + " FAILED").c_str() : "none failed",
              duration(whole.seconds * 1e9).c_str());
  std::fflush(stdout);
}
}  // namespace tour
