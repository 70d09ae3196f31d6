// tour/json_writer.cpp -- the report for programs.
// SPDX-License-Identifier: MIT
#include "json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "format.hpp"

namespace tour {
namespace {
/// Puts the commas; the caller opens and closes in pairs.
class json {
 public:
  json& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  json& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  json& key(std::string_view name) {
    value(name);
    text_ += ": ";
    first_ = true;
    return *this;
  }
  json& value(std::string_view foreign) {
    separate();
    text_ += '"';
    // Printable text holds no control character and nothing but UTF-8.
    for (const char c : printable(foreign)) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  json& value(const char* text) { return value(std::string_view(text)); }
  json& value(double number) {
    if (!std::isfinite(number)) return raw("null");
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return raw(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  template <class Integer>
    requires std::is_integral_v<Integer>
  json& value(Integer number) {
    if constexpr (std::is_same_v<Integer, bool>) return raw(number ? "true" : "false");
    return raw(std::to_string(number));
  }
  template <class T>
  json& member(std::string_view name, const T& given) {
    return key(name).value(given);
  }
  void new_line() {
    separate();
    text_ += '\n';
    first_ = true;
  }
  std::string take() { return std::move(text_); }

 private:
  json& raw(std::string_view text) {
    separate();
    text_ += text;
    return *this;
  }
  void separate() {
    if (!first_) text_ += ", ";
    first_ = false;
  }
  std::string text_;
  bool first_ = true;
};

void strings(json& out, std::string_view name, const std::vector<std::string>& all) {
  out.key(name).open('[');
  for (const std::string& each : all) out.value(each);
  out.close(']');
}

/// A text with line breaks, as a list of lines.
void lines(json& out, const std::string& text) {
  out.key("lines").open('[');
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out.value(std::string_view(text).substr(from, end - from));
    from = end + 1;
  }
  out.close(']');
}

void write(json& out, const paragraph& shown) { out.member("kind", "text").member("text", shown.text); }
void write(json& out, const listing& shown) {
  out.member("kind", "listing");
  lines(out, shown.text);
}
void write(json& out, const claim& shown) {
  out.member("kind", "claim").member("text", shown.text).member("holds", shown.holds);
}

void write(json& out, const table& shown) {
  out.member("kind", "table").member("title", shown.title);
  strings(out, "columns", shown.columns);
  out.key("rows").open('[');
  for (const auto& row : shown.rows) {
    out.open('[');
    for (const std::string& cell : row) out.value(cell);
    out.close(']');
  }
  out.close(']');
}

void write(json& out, const bar_chart& shown) {
  out.member("kind", "bars").member("title", shown.title).member("unit", shown.unit).key("bars").open('[');
  for (const bar& each : shown.bars) {
    out.open('{')
        .member("label", each.label)
        .member("value", each.value)
        .member("shown", each.shown)
        .close('}');
  }
  out.close(']');
}

void write(json& out, const curve_chart& shown) {
  out.member("kind", "curves").member("title", shown.title).member("x", shown.x_label);
  out.member("limit", shown.limit).member("limit_label", shown.limit_label).key("curves").open('[');
  for (const curve& each : shown.curves) {
    out.open('{').member("name", each.name).member("ends", each.end_mark).key("points").open('[');
    for (const auto& [x, y] : each.points) out.open('[').value(x).value(y).close(']');
    out.close(']').close('}');
  }
  out.close(']');
}

void write(json& out, const memory_picture& shown) {
  out.member("kind", "memory").member("title", shown.title).key("columns").open('[');
  for (const memory_column& column : shown.columns) {
    out.open('{').member("title", column.title).key("boxes").open('[');
    for (const memory_box& box : column.boxes) {
      out.open('{')
          .member("name", box.name)
          .member("address", address(box.address))
          .member("bytes", box.size);
      strings(out, "notes", box.notes);
      out.close('}');
    }
    out.close(']').close('}');
  }
  out.close(']');
}

void write(json& out, const timeline& shown) {
  out.member("kind", "timeline").member("title", shown.title);
  strings(out, "lanes", shown.lanes);
  out.key("events").open('[');
  for (const happening& each : shown.events) {
    out.open('{').member("ns", each.at).member("lane", each.lane).member("text", each.text);
    out.member("then", name_of(each.then)).close('}');
  }
  out.close(']');
}

void write(json& out, const level_chart& shown) {
  out.member("kind", "levels").member("title", shown.title).member("x", shown.x_label);
  out.member("limit", shown.limit).member("limit_label", shown.limit_label).key("levels").open('[');
  for (const double level : shown.levels) out.value(level);
  out.close(']');
}

void write(json& out, const section& each) {
  out.new_line();
  out.open('{').member("name", each.name()).member("title", each.title());
  out.key("figures").open('{');
  for (const figure& one : each.figures()) {
    out.key(one.name).open('{').member("value", one.value).member("unit", one.unit).close('}');
  }
  out.close('}').key("items").open('[');
  for (const item& shown : each.items()) {
    out.new_line();
    out.open('{');
    std::visit([&out](const auto& kind) { write(out, kind); }, shown);
    out.close('}');
  }
  out.close(']').close('}');
}
}  // namespace

std::string to_json(const report& whole) {
  json out;
  out.open('{').member("compiler", whole.compiler).member("hardware_threads", whole.hardware_threads);
  out.member("seconds", whole.seconds).member("claims_held", whole.claims(true));
  out.member("claims_failed", whole.claims(false)).key("sections").open('[');
  for (const section& each : whole.sections) write(out, each);
  out.close(']').close('}');
  return out.take() + "\n";
}
}  // namespace tour
