// tour/text_timeline.cpp -- timelines and fill levels drawn with characters.
// SPDX-License-Identifier: MIT
#include "text_timeline.hpp"

#include <algorithm>
#include <cmath>

#include "format.hpp"

namespace tour {
namespace {
constexpr std::size_t time_width = 7;

const char* line_of(lane_state state) {
  switch (state) {
    case lane_state::running:
      return "┃ ";
    case lane_state::waiting:
      return "╎ ";
    default:
      return "  ";
  }
}
const char* mark_of(lane_state state) {
  switch (state) {
    case lane_state::failed:
      return "✗ ";
    case lane_state::stopped:
      return "■ ";
    case lane_state::done:
      return "○ ";
    default:
      return "● ";
  }
}

bool has_times(const timeline& recorded) {
  return std::any_of(recorded.events.begin(), recorded.events.end(),
                     [](const happening& each) { return each.at != 0; });
}

std::string time_of(const happening& each) { return each.at == 0 ? "0" : duration(each.at); }

std::string marks(const std::vector<lane_state>& states, std::size_t marked) {
  std::string line;
  for (std::size_t i = 0; i != states.size(); ++i)
    line += i == marked ? mark_of(states[i]) : line_of(states[i]);
  return line;
}

// The highest level of each column, so that no peak is lost.
std::vector<double> columns_of(const std::vector<double>& levels, std::size_t count) {
  std::vector<double> highest(std::min(count, levels.size()));
  for (std::size_t i = 0; i != levels.size(); ++i) {
    double& column = highest[i * highest.size() / levels.size()];
    column = std::max(column, levels[i]);
  }
  return highest;
}
}  // namespace

std::vector<std::string> drawn_timeline(const timeline& recorded, std::size_t width) {
  const std::size_t before = has_times(recorded) ? time_width + 2 : 0;
  const std::size_t room = width - before - 2 * recorded.lanes.size() - 1;
  std::vector<lane_state> states(recorded.lanes.size(), lane_state::idle);
  std::vector<std::string> lines;
  for (const happening& each : recorded.events) {
    states[each.lane] = each.then;
    const auto text = wrapped(recorded.lanes[each.lane] + ": " + each.text, room);
    for (std::size_t i = 0; i != text.size(); ++i) {
      const bool first = i == 0;
      const std::string time = before ? fitted_right(first ? time_of(each) : "", time_width) + "  " : "";
      lines.push_back(time + marks(states, first ? each.lane : states.size()) + " " + text[i]);
    }
  }
  return lines;
}

std::vector<std::string> drawn_levels(const level_chart& chart, std::size_t width) {
  static constexpr const char* eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t height = 4;
  double highest = chart.limit;
  for (const double level : chart.levels) highest = std::max(highest, level);
  const std::string top = fixed(highest, 0);
  const std::vector<double> columns = columns_of(chart.levels, width - top.size() - 2);
  std::vector<std::string> lines;
  for (std::size_t row = height; row-- != 0;) {
    std::string line = fitted_right(row == height - 1 ? top : row == 0 ? "0" : "", top.size()) + " ┤";
    for (const double level : columns) {
      const double filled = level / highest * height * 8 - static_cast<double>(row) * 8;
      line += eighths[static_cast<std::size_t>(std::clamp(std::round(filled), 0.0, 8.0))];
    }
    lines.push_back(std::move(line));
  }
  for (std::string& line : wrapped(chart.x_label + "; " + fixed(chart.limit, 0) + " is " + chart.limit_label,
                                   width - top.size() - 2)) {
    lines.push_back(std::string(top.size() + 2, ' ') + line);
  }
  return lines;
}
}  // namespace tour
