// tour/text_writer.hpp -- shows the report in a terminal while it comes into being.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "report.hpp"

namespace tour {
/// Lines of at most `width` columns; a listing is shown as it stands. Colours only where `coloured`.
class text_writer {
 public:
  text_writer(std::size_t width, bool coloured) : width_(width), coloured_(coloured) {}

  void begin(const report& whole);
  void begin_section(std::size_t number, const std::string& name, const std::string& title);
  void show(const item& shown);
  void end(const report& whole);

 private:
  void write(const paragraph& shown);
  void write(const listing& shown);
  void write(const table& shown);
  void write(const bar_chart& shown);
  void write(const curve_chart& shown);
  void write(const memory_picture& shown);
  void write(const timeline& shown);
  void write(const level_chart& shown);
  void write(const claim& shown);

  void put(const std::string& line);
  void put_title(const std::string& title);
  /// A title and what is drawn below it, between empty lines.
  void put_drawing(const std::string& title, const std::vector<std::string>& lines);
  /// An empty line, unless the last one was.
  void gap();
  std::string bold(const std::string& text) const { return dressed("1", text); }
  std::string dressed(const char* code, const std::string& text) const;

  /// Columns between the margins.
  [[nodiscard]] std::size_t text_width() const { return width_ - 2 * indent; }

  static constexpr std::size_t indent = 2;
  std::size_t width_;
  bool coloured_;
  bool after_gap_ = false;
  bool after_claim_ = false;
};
}  // namespace tour
