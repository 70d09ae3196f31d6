// tour/html_film.cpp -- what the page's readers step through: memory as it changes, and recorded runs.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "format.hpp"
#include "html_writer.hpp"

namespace tour {
namespace {
/// Without the page's script there are no buttons, and all steps are shown.
std::string opening(const char* kind, std::size_t steps, const std::string& title) {
  return "<figure class=\"film " + std::string(kind) + "\" data-steps=\"" + std::to_string(steps) +
         "\" tabindex=\"0\"><h3>" + escaped(title) +
         "</h3>\n<div class=\"controls\" hidden>"
         "<button type=\"button\" data-go=\"back\" aria-label=\"previous step\">&#9664;</button>"
         "<button type=\"button\" data-go=\"next\" aria-label=\"next step\">&#9654;</button>"
         "<button type=\"button\" data-go=\"play\">play</button>"
         "<output></output><span class=\"soft keys\">or the arrow keys</span></div>\n";
}

// The larger the piece of memory, the higher the box, within limits.
std::string drawn_box(const memory_box& box, const char* kind) {
  const double height = 44 + 0.15 * static_cast<double>(std::min<std::size_t>(box.size, 800));
  std::string html = std::string("<div class=\"box") + (box.highlighted ? " about" : "") + kind +
                     "\" style=\"min-height:" + fixed(height, 0) + "px\"><b>" + escaped(box.name) +
                     "</b><span class=\"mono\">" + address(box.address) + "</span><small>" +
                     byte_size(static_cast<double>(box.size)) + "</small>";
  for (const std::string& note : box.notes) html += "<small>" + escaped(note) + "</small>";
  return html + "</div>";
}

bool contains(const memory_column* column, const memory_box& box) {
  return column && std::any_of(column->boxes.begin(), column->boxes.end(), [&box](const memory_box& each) {
           return each.name == box.name && each.address == box.address;
         });
}
const memory_column* find(const memory_picture* picture, const std::string& title) {
  if (!picture) return nullptr;
  for (const memory_column& each : picture->columns) {
    if (each.title == title) return &each;
  }
  return nullptr;
}

/// What is new since the picture before is marked, and what has gone leaves its outline.
std::string drawn_column(const memory_column& column, const memory_column* before) {
  std::string html = "<div><h4>" + escaped(column.title) + "</h4>";
  for (const memory_box& box : column.boxes)
    html += drawn_box(box, before && !contains(before, box) ? " new" : "");
  bool gone = false;
  if (before) {
    for (const memory_box& box : before->boxes) {
      if (contains(&column, box)) continue;
      gone = true;
      html += "<div class=\"none\">" + escaped(box.name) + " is gone</div>";
    }
  }
  if (column.boxes.empty() && !gone) html += "<div class=\"none\">nothing</div>";
  return html + "</div>\n";
}

std::string joined(const std::vector<std::size_t>& lines) {
  std::string text;
  for (const std::size_t each : lines) text += (text.empty() ? "" : " ") + std::to_string(each);
  return text;
}

std::string drawn_picture(const memory_picture& picture, const memory_picture* before, std::size_t step) {
  std::string html = "<div class=\"card" + std::string(picture.columns.size() > 2 ? " three" : "") +
                     "\" data-step=\"" + std::to_string(step) + "\" data-lines=\"" + joined(picture.lines) +
                     "\"><h4 class=\"caption\">" + escaped(picture.title) + "</h4><div class=\"columns\">\n";
  for (const memory_column& column : picture.columns)
    html += drawn_column(column, find(before, column.title));
  return html + "</div></div>\n";
}

/// A bar from each event to the next one of the same lane. Events are equally far apart, whatever their
/// times.
std::string drawn_lane(const timeline& recorded, std::size_t lane) {
  const std::size_t count = recorded.events.size();
  const auto place = [count](std::size_t event) {
    return fixed(100 * (static_cast<double>(event) + 0.5) / static_cast<double>(count), 2) + "%";
  };
  std::string bars, marks;
  for (std::size_t i = 0; i != count; ++i) {
    const happening& each = recorded.events[i];
    if (each.lane != lane) continue;
    std::size_t next = i + 1;
    while (next != count && recorded.events[next].lane != lane) ++next;
    const double width = 100 *
                         (static_cast<double>(next) - static_cast<double>(i) - (next == count ? 0.5 : 0)) /
                         static_cast<double>(count);
    const std::string common = std::string("class=\"") + name_of(each.then) + "\" data-step=\"" +
                               std::to_string(i) + "\" style=\"left:" + place(i);
    bars += "<i " + common + ";width:" + fixed(width, 2) + "%\"></i>";
    marks += "<b " + common + "\"></b>";
  }
  return "<div class=\"lane\"><span>" + escaped(recorded.lanes[lane]) + "</span><div class=\"track\">" +
         bars + marks + "<u></u></div></div>\n";
}

/// Where the other lanes stand in the code while this event happens: the lines of their last events.
std::vector<std::size_t> lines_of_others(const timeline& recorded, std::size_t event) {
  std::vector<std::size_t> lines;
  std::vector<bool> met(recorded.lanes.size());
  met[recorded.events[event].lane] = true;
  while (event-- != 0) {
    const happening& each = recorded.events[event];
    if (met[each.lane]) continue;
    met[each.lane] = true;
    lines.insert(lines.end(), each.lines.begin(), each.lines.end());
  }
  return lines;
}
}  // namespace

std::string played_memory(const listing* code, const std::vector<memory_picture>& pictures) {
  std::string html = opening(code ? "memory with-code" : "memory", pictures.size(), "Step by step");
  if (code) html += coloured_code(code->text);
  html += "<div class=\"steps\">\n";
  for (std::size_t i = 0; i != pictures.size(); ++i) {
    html += drawn_picture(pictures[i], i ? &pictures[i - 1] : nullptr, i);
  }
  return html + "</div></figure>\n";
}

std::string played_timeline(const listing* code, const timeline& recorded) {
  const bool timed = !recorded.events.empty() && recorded.events.back().at > 0;
  std::string html =
      opening(code ? "timeline with-code" : "timeline", recorded.events.size(), recorded.title);
  if (code) html += coloured_code(code->text);
  html += "<div><div class=\"lanes\">\n";
  for (std::size_t i = 0; i != recorded.lanes.size(); ++i) html += drawn_lane(recorded, i);
  html += "</div>\n<ol class=\"events\">\n";
  for (std::size_t i = 0; i != recorded.events.size(); ++i) {
    const happening& each = recorded.events[i];
    html += "<li data-step=\"" + std::to_string(i) + "\" data-at=\"" + fixed(each.at, 0) + "\" class=\"" +
            name_of(each.then) + "\" data-lines=\"" + joined(each.lines) + "\" data-others=\"" +
            joined(lines_of_others(recorded, i)) + "\">";
    if (timed) html += "<span class=\"when\">" + (each.at == 0 ? "0" : duration(each.at)) + "</span>";
    html +=
        "<span><b>" + escaped(recorded.lanes[each.lane]) + "</b> " + escaped(each.text) + "</span></li>\n";
  }
  return html + "</ol></div></figure>\n";
}
}  // namespace tour
