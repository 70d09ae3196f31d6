// tour/report.hpp -- what the stations find out, before anybody decides how it looks.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tour {
struct paragraph {
  std::string text;
};
/// Source text, shown as it stands.
struct listing {
  std::string text;
};
struct table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
struct bar {
  std::string label;
  double value;
  std::string shown;  ///< the value as people read it
};
/// Bars on a common scale that begins at zero.
struct bar_chart {
  std::string title;
  std::string unit;
  std::vector<bar> bars;
};
struct curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< by growing x
  std::string end_mark;                           ///< why it ends before the others; empty if it does not
};
/// Curves over two logarithmic axes; y counts bytes.
struct curve_chart {
  std::string title;
  std::string x_label;
  std::vector<curve> curves;
  double limit;  ///< a line across, at this y
  std::string limit_label;
};
/// A piece of memory: where it is, how large, what is in it.
struct memory_box {
  std::string name;
  std::uintptr_t address;
  std::size_t size;
  std::vector<std::string> notes;
  bool highlighted = false;  ///< what the picture is about
};
struct memory_column {
  std::string title;
  std::vector<memory_box> boxes;
};
/// Consecutive pictures show how the memory changes; a listing just before them is the code that runs.
struct memory_picture {
  std::string title;
  std::vector<memory_column> columns;
  std::vector<std::size_t> lines = {};  ///< of that listing, which run now; the first one is 1
};
enum class lane_state { idle, running, waiting, failed, stopped, done };
constexpr const char* name_of(lane_state state) {
  constexpr const char* names[] = {"idle", "running", "waiting", "failed", "stopped", "done"};
  return names[static_cast<std::size_t>(state)];
}
/// Something that happened in one lane of a timeline, and the state of that lane from then on.
struct happening {
  double at;  ///< nanoseconds since the first one; the same for all where only the order is known
  std::size_t lane;
  std::string text;
  lane_state then;
  std::vector<std::size_t> lines = {};  ///< of the listing just before the timeline, as in a memory_picture
};
/// A recorded run: what happened in each of several threads or coroutines, in order.
struct timeline {
  std::string title;
  std::vector<std::string> lanes;
  std::vector<happening> events;
};
/// A number that changed in steps, such as a fill level, below a limit.
struct level_chart {
  std::string title;
  std::string x_label;
  std::vector<double> levels;  ///< after each change
  double limit;                ///< a line across, at this level
  std::string limit_label;
};
/// What the tour promises, and whether it was so in this run.
struct claim {
  std::string text;
  bool holds;
};
using item = std::variant<paragraph, listing, table, bar_chart, curve_chart, memory_picture, timeline,
                          level_chart, claim>;

/// A measured number under a stable name, for programs that read the JSON.
struct figure {
  std::string name;
  double value;
  std::string unit;
};

class section {
 public:
  using observer = std::function<void(const item&)>;

  section(std::string name, std::string title, observer on_item)
      : name_(std::move(name)), title_(std::move(title)), on_item_(std::move(on_item)) {}

  /// Shows the item at once and keeps it.
  void add(item shown) {
    items_.push_back(std::move(shown));
    on_item_(items_.back());
  }
  void say(std::string text) { add(paragraph{std::move(text)}); }
  void check(bool holds, std::string text) { add(claim{std::move(text), holds}); }
  void measured(std::string name, double value, std::string unit) {
    figures_.push_back({std::move(name), value, std::move(unit)});
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<item>& items() const { return items_; }
  [[nodiscard]] const std::vector<figure>& figures() const { return figures_; }

 private:
  std::string name_;
  std::string title_;
  observer on_item_;
  std::vector<item> items_;
  std::vector<figure> figures_;
};

/// The whole run: the sections in order, and what they were measured with.
struct report {
  std::string compiler;
  std::size_t hardware_threads = 0;
  std::deque<section> sections;
  double seconds = 0;

  [[nodiscard]] std::size_t claims(bool holding) const {
    std::size_t count = 0;
    for (const section& each : sections) {
      for (const item& shown : each.items()) {
        const auto* promised = std::get_if<claim>(&shown);
        if (promised && promised->holds == holding) ++count;
      }
    }
    return count;
  }
};
}  // namespace tour
