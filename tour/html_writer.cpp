// tour/html_writer.cpp -- the report as one page that needs nothing else.
// SPDX-License-Identifier: MIT
#include "html_writer.hpp"

#include <algorithm>

#include "format.hpp"
#include "html_script.hpp"
#include "html_style.hpp"

namespace tour {
namespace {
std::string element(const std::string& tag, std::string_view text) {
  return "<" + tag + ">" + escaped(text) + "</" + tag.substr(0, tag.find(' ')) + ">";
}

std::string shown(const paragraph& item) { return element("p", item.text) + "\n"; }
std::string shown(const listing& item) { return coloured_code(item.text); }
std::string shown(const claim& item) {
  return std::string("<p class=\"claim") + (item.holds ? "" : " broken") + "\"><b>" +
         (item.holds ? "holds" : "FAILS") + "</b><span>" + escaped(item.text) + "</span></p>\n";
}
// Pictures never stand alone: see below.
std::string shown(const memory_picture&) { return {}; }
std::string shown(const curve_chart& item) { return drawn_curves(item); }
std::string shown(const level_chart& item) { return drawn_area(item); }
std::string shown(const timeline& item) { return played_timeline(nullptr, item); }

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

bool shows_code(const timeline& recorded) {
  return std::any_of(recorded.events.begin(), recorded.events.end(),
                     [](const happening& each) { return !each.lines.empty(); });
}

// Consecutive pictures are one film, together with the listing just before them. So is a timeline that names
// lines of it.
std::string shown(const section& part) {
  std::string html = "<section id=\"" + escaped(part.name()) + "\">" +
                     element("h2", part.name() + ": " + part.title()) + "\n";
  const std::vector<item>& items = part.items();
  for (std::size_t i = 0; i != items.size();) {
    std::size_t next = i;
    const auto* const code = std::get_if<listing>(&items[i]);
    if (code) ++next;
    std::vector<memory_picture> pictures;
    for (; next != items.size() && std::holds_alternative<memory_picture>(items[next]); ++next) {
      pictures.push_back(std::get<memory_picture>(items[next]));
    }
    const auto* const recorded = code && next != items.size() ? std::get_if<timeline>(&items[next]) : nullptr;
    if (recorded && shows_code(*recorded)) {
      html += played_timeline(code, *recorded);
      i = next + 1;
    } else if (!pictures.empty()) {
      html += played_memory(code, pictures);
      i = next;
    } else {
      html += std::visit([](const auto& kind) { return shown(kind); }, items[i++]);
    }
  }
  return html + "</section>\n";
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
  html += "<script>";
  html += html_script;
  return html + "</script>\n</body>\n</html>\n";
}
}  // namespace tour
