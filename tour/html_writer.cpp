// tour/html_writer.cpp -- the report as one page that needs nothing else.
// SPDX-License-Identifier: MIT
#include "html_writer.hpp"

#include <algorithm>

#include "format.hpp"
#include "html_style.hpp"

namespace tour {
namespace {
std::string element(const std::string& tag, std::string_view text) {
  return "<" + tag + ">" + escaped(text) + "</" + tag.substr(0, tag.find(' ')) + ">";
}

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9' && !cell.starts_with("0x");
}

std::string shown(const paragraph& item) { return element("p", item.text) + "\n"; }
std::string shown(const listing& item) { return element("pre", item.text) + "\n"; }
std::string shown(const claim& item) {
  return std::string("<p class=\"claim") + (item.holds ? "" : " broken") + "\"><b>" +
         (item.holds ? "holds" : "FAILS") + "</b><span>" + escaped(item.text) + "</span></p>\n";
}
std::string shown(const curve_chart& item) { return drawn_curves(item); }

// Each cell knows its column, for screens so narrow that a row becomes a list.
std::string shown(const table& item) {
  std::string html =
      std::string("<div class=\"wide") + (item.columns.size() > 2 ? " many" : "") + "\"><table>";
  if (!item.title.empty()) html += element("caption", item.title);
  html += "<tr>";
  for (const std::string& title : item.columns) html += element("th", title);
  html += "</tr>\n";
  for (const auto& row : item.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i != row.size(); ++i) {
      html += element("td data-column=\"" + escaped(item.columns[i]) + "\"" +
                          (is_number(row[i]) ? " class=\"number\"" : ""),
                      row[i]);
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string shown(const bar_chart& item) {
  double largest = 0;
  for (const bar& each : item.bars) largest = std::max(largest, each.value);
  std::string html = "<figure>" + element("h3", item.title) + "<div class=\"bars\">\n";
  for (const bar& each : item.bars) {
    const double percent = largest > 0 ? 100 * each.value / largest : 0;
    html += element("span class=\"label\"", each.label) +
            "<span class=\"track\"><i style=\"width:" + fixed(percent, 2) + "%\"></i></span>" +
            element("span class=\"value\"", each.shown) + "\n";
  }
  return html + "</div></figure>\n";
}

// The larger the piece of memory, the higher the box, within limits.
std::string shown(const memory_box& box) {
  const double height = 44 + 0.15 * static_cast<double>(std::min<std::size_t>(box.size, 800));
  std::string html = std::string("<div class=\"box") + (box.highlighted ? " about" : "") +
                     "\" style=\"min-height:" + fixed(height, 0) + "px\">" + element("b", box.name) +
                     element("span class=\"mono\"", address(box.address));
  html += element("small", byte_size(static_cast<double>(box.size)));
  for (const std::string& note : box.notes) html += element("small", note);
  return html + "</div>";
}
std::string shown(const memory_picture& item) {
  std::string html = std::string("<div class=\"card") + (item.columns.size() > 2 ? " three" : "") + "\">" +
                     element("h3", item.title) + "<div class=\"columns\">\n";
  for (const memory_column& column : item.columns) {
    html += "<div>" + element("h4", column.title);
    for (const memory_box& box : column.boxes) html += shown(box);
    if (column.boxes.empty()) html += "<div class=\"none\">nothing</div>";
    html += "</div>\n";
  }
  return html + "</div></div>\n";
}

std::string shown(const section& part) {
  std::string html = "<section id=\"" + escaped(part.name()) + "\">" +
                     element("h2", part.name() + ": " + part.title()) + "\n";
  bool in_pictures = false;
  for (const item& each : part.items()) {
    const bool is_picture = std::holds_alternative<memory_picture>(each);
    if (is_picture != in_pictures) html += is_picture ? "<div class=\"life\">\n" : "</div>\n";
    in_pictures = is_picture;
    html += std::visit([](const auto& kind) { return shown(kind); }, each);
  }
  return html + (in_pictures ? "</div>" : "") + "</section>\n";
}

std::string summary(const report& whole) {
  const std::size_t held = whole.claims(true), failed = whole.claims(false);
  std::string html = "<p class=\"soft\">" + escaped(whole.compiler) + ", " +
                     plural(whole.hardware_threads, "hardware thread") + ", " +
                     duration(whole.seconds * 1e9) + ". Every figure on this page was measured in that run. ";
  html += plural(held + failed, "claim") + " checked, ";
  html += failed ? "<b class=\"broken\">" + grouped(failed) + " failed</b>." : "none failed.";
  return html + "</p>\n";
}
}  // namespace

std::string escaped(std::string_view foreign) {
  std::string html;
  std::size_t from = 0;
  // Line breaks are control characters, but a listing has them.
  for (;;) {
    const std::size_t end = std::min(foreign.find('\n', from), foreign.size());
    for (const char c : printable(foreign.substr(from, end - from))) {
      switch (c) {
        case '&':
          html += "&amp;";
          break;
        case '<':
          html += "&lt;";
          break;
        case '>':
          html += "&gt;";
          break;
        case '"':
          html += "&quot;";
          break;
        default:
          html += c;
      }
    }
    if (end == foreign.size()) return html;
    html += '\n';
    from = end + 1;
  }
}

std::string to_html(const report& whole) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>coracle: a tour of C++ coroutines</title>\n<style>";
  html += html_style;
  html +=
      "</style>\n</head>\n<body>\n<h1>coracle: a tour of C++ coroutines</h1>\n" + summary(whole) + "<nav>";
  for (const section& each : whole.sections) {
    html += "<a href=\"#" + escaped(each.name()) + "\">" + escaped(each.name()) + "</a>\n";
  }
  html += "</nav>\n";
  for (const section& each : whole.sections) html += shown(each);
  return html + "</body>\n</html>\n";
}
}  // namespace tour
