// tour/text_writer.hpp -- shows the report in a terminal while it comes into being.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "report.hpp"

namespace tour {
/// At most 100 columns. Colours only where `coloured`.
class text_writer {
 public:
  explicit text_writer(bool coloured) : coloured_(coloured) {}

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
  void write(const claim& shown);

  void put(const std::string& line);
  /// An empty line, unless the last one was.
  void gap();
  std::string bold(const std::string& text) const { return dressed("1", text); }
  std::string dressed(const char* code, const std::string& text) const;

  bool coloured_;
  bool after_gap_ = false;
  bool after_claim_ = false;
};
}  // namespace tour
