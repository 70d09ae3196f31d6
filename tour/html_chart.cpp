// tour/html_chart.cpp -- curves over two logarithmic axes, as SVG.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "format.hpp"
#include "html_writer.hpp"

namespace tour {
namespace {
/// Where the plot is in the picture.
struct plot {
  static constexpr double width = 400, height = 250, left = 64, right = 384, top = 22, bottom = 214;
};
constexpr double zero_line = plot::bottom - 6;  // where y is 0: a logarithmic axis has no such place

/// Between the chart's data and its pixels. y begins at 64 bytes, one step above zero.
class axes {
 public:
  explicit axes(const curve_chart& chart) {
    for (const curve& each : chart.curves) {
      for (const auto& [x, y] : each.points) {
        x_end_ = std::max(x_end_, std::log10(std::max(x, 1.0)));
        y_end_ = std::max(y_end_, std::log2(std::max(y, 64.0)));
      }
    }
    y_end_ = std::max(y_end_, std::log2(chart.limit));
  }
  [[nodiscard]] double x(double value) const {
    return plot::left + (plot::right - plot::left) * std::log10(std::max(value, 1.0)) / x_end_;
  }
  [[nodiscard]] double y(double value) const {
    if (value < 64) return zero_line;
    const double share = (std::log2(value) - y_begin_ + 2) / (y_end_ - y_begin_ + 2);
    return zero_line - (zero_line - plot::top) * share;
  }
  [[nodiscard]] double x_end() const { return x_end_; }
  [[nodiscard]] double y_end() const { return y_end_; }

 private:
  double x_end_ = 1;
  double y_begin_ = 6;
  double y_end_ = 7;
};

std::string number(double value) { return fixed(value, 1); }

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return std::string("<line class=\"") + kind + "\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) +
         "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\"/>\n";
}
std::string label(double x, double y, const char* anchor, const std::string& text, const char* kind = "") {
  return "<text class=\"" + std::string(kind) + "\" x=\"" + number(x) + "\" y=\"" + number(y) +
         "\" text-anchor=\"" + anchor + "\">" + escaped(text) + "</text>\n";
}

std::string power_of_ten(int exponent) {
  if (exponent < 3) return grouped(static_cast<std::uint64_t>(std::lround(std::pow(10, exponent))));
  if (exponent < 6) return grouped(static_cast<std::uint64_t>(std::lround(std::pow(10, exponent - 3)))) + "k";
  return grouped(static_cast<std::uint64_t>(std::lround(std::pow(10, exponent - 6)))) + "M";
}

std::string power_of_two(int exponent) {
  const char* const unit = exponent < 20 ? " KiB" : exponent < 30 ? " MiB" : " GiB";
  return grouped(std::uint64_t{1} << (exponent % 10)) + unit;
}

std::string grid(const axes& scale, const curve_chart& chart) {
  std::string svg = line(plot::left, zero_line, plot::right, zero_line, "grid") +
                    label(plot::left - 6, zero_line + 4, "end", "0");
  for (int power = 10; power <= scale.y_end() + 0.01; power += 5) {
    const double y = scale.y(std::exp2(power));
    svg += line(plot::left, y, plot::right, y, "grid") +
           label(plot::left - 6, y + 4, "end", power_of_two(power));
  }
  for (int power = 0; power <= scale.x_end() + 0.01; ++power) {
    const double x = scale.x(std::pow(10, power));
    svg += line(x, plot::bottom - 6, x, plot::bottom - 1, "grid") +
           label(x, plot::bottom + 14, "middle", power_of_ten(power));
  }
  return svg + label((plot::left + plot::right) / 2, plot::height - 4, "middle", chart.x_label);
}

std::string drawn(const curve& each, const axes& scale, const std::string& colour) {
  std::string svg = "<polyline class=\"" + colour + "\" points=\"";
  for (const auto& [x, y] : each.points) svg += number(scale.x(x)) + "," + number(scale.y(y)) + " ";
  svg += "\"/>\n";
  if (each.points.empty() || each.end_mark.empty()) return svg;
  const double x = scale.x(each.points.back().first), y = scale.y(each.points.back().second);
  svg += "<circle class=\"" + colour + "\" cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"4\"/>\n";
  return svg + label(x + 9, y + 16, "start", each.end_mark);
}

std::string legend(const curve_chart& chart) {
  std::string html = "<ul class=\"legend\">";
  for (std::size_t i = 0; i != chart.curves.size(); ++i) {
    html += "<li><svg viewBox=\"0 0 36 10\" aria-hidden=\"true\"><polyline class=\"c" +
            std::to_string(i % 3) + "\" points=\"0,5 36,5\"/></svg>" + escaped(chart.curves[i].name) +
            "</li>\n";
  }
  return html + "</ul>";
}
}  // namespace

std::string drawn_curves(const curve_chart& chart) {
  const axes scale(chart);
  std::string html = "<figure><h3>" + escaped(chart.title) + "</h3>\n<svg viewBox=\"0 0 " +
                     fixed(plot::width, 0) + " " + fixed(plot::height, 0) + "\" role=\"img\" aria-label=\"" +
                     escaped(chart.title) + "\">\n";
  html += grid(scale, chart);
  const double limit = scale.y(chart.limit);
  html += line(plot::left, limit, plot::right, limit, "limit") +
          label(plot::left, limit - 6, "start", chart.limit_label, "limit-label");
  for (std::size_t i = 0; i != chart.curves.size(); ++i) {
    html += drawn(chart.curves[i], scale, "c" + std::to_string(i % 3));
  }
  return html + "</svg>\n" + legend(chart) + "</figure>\n";
}

std::string drawn_area(const level_chart& chart) {
  const double last = static_cast<double>(std::max<std::size_t>(2, chart.levels.size())) - 1;
  double highest = chart.limit;
  for (const double level : chart.levels) highest = std::max(highest, level);
  const auto x = [last](std::size_t i) {
    return plot::left + (plot::right - plot::left) * static_cast<double>(i) / last;
  };
  const auto y = [highest](double level) {
    return plot::bottom - (plot::bottom - plot::top) * level / highest;
  };
  std::string html = "<figure><h3>" + escaped(chart.title) + "</h3>\n<svg viewBox=\"0 0 " +
                     fixed(plot::width, 0) + " " + fixed(plot::height, 0) + "\" role=\"img\" aria-label=\"" +
                     escaped(chart.title) + "\">\n<polyline class=\"area\" points=\"" + number(plot::left) +
                     "," + number(plot::bottom) + " ";
  for (std::size_t i = 0; i != chart.levels.size(); ++i)
    html += number(x(i)) + "," + number(y(chart.levels[i])) + " ";
  html += number(plot::right) + "," + number(plot::bottom) + "\"/>\n";
  html += line(plot::left, plot::bottom, plot::right, plot::bottom, "grid") +
          label(plot::left - 6, plot::bottom + 4, "end", "0");
  html += line(plot::left, y(chart.limit), plot::right, y(chart.limit), "limit") +
          label(plot::left - 6, y(chart.limit) + 4, "end", fixed(chart.limit, 0), "limit-label") +
          label(plot::left, plot::top - 8, "start", chart.limit_label, "limit-label");
  return html + label((plot::left + plot::right) / 2, plot::height - 12, "middle", chart.x_label) +
         "</svg></figure>\n";
}
}  // namespace tour
