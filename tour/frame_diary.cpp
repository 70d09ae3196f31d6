// tour/frame_diary.cpp -- notes where everything is during the life of a frame, and draws it.
// SPDX-License-Identifier: MIT
#include "frame_diary.hpp"

#include <map>

#include "format.hpp"
#include "traced.hpp"

namespace tour {
namespace {
memory_box box_of(const activation& active) {
  return {active.name, active.position, static_cast<std::size_t>(active.position - active.below),
          active.notes, active.name == "x"};
}
memory_column column_of(const std::string& title, const std::vector<activation>& stack) {
  memory_column column{title, {}};
  for (const activation& each : stack) column.boxes.push_back(box_of(each));
  return column;
}
bool in_frame(const void* place) {
  const auto* const start = static_cast<const char*>(traced_frame.address);
  return place >= start && place < start + traced_frame.size;
}
std::string frame_offset(const void* place) {
  return grouped(static_cast<std::uint64_t>(static_cast<const char*>(place) -
                                            static_cast<const char*>(traced_frame.address)));
}
}  // namespace

void frame_diary::saw(const std::string& name, const void* place, const std::string& remark) {
  stack_bounds here = this_stack();
  const bool on_main = here.lowest == main_stack_.lowest || here.highest == main_stack_.highest;
  if (!on_main) other_stack_ = here;
  sightings_.push_back({name, remark, place, on_main});
}

std::string frame_diary::where(const void* place) const {
  if (in_frame(place)) return "in the frame, byte " + frame_offset(place);
  if (main_stack_.contains(place)) return "on the stack of main";
  if (other_stack_.contains(place)) return "on the stack of thread 2";
  return "elsewhere";
}

std::vector<std::string> frame_diary::frame_notes(const std::string& state) const {
  std::map<const void*, std::string> inside;
  for (const sighting& each : sightings_) {
    if (in_frame(each.place)) inside.emplace(each.place, each.name);
  }
  std::vector<std::string> notes{state};
  for (const auto& [place, name] : inside) notes.push_back("byte " + frame_offset(place) + ": " + name);
  return notes;
}

void frame_diary::draw(const std::string& title, const std::vector<std::size_t>& lines,
                       const std::vector<activation>& main, const std::vector<activation>& other,
                       const std::string& frame_state) {
  memory_picture picture{title, {column_of("stack of main ↓", main)}, lines};
  if (!other.empty()) picture.columns.push_back(column_of("stack of thread 2 ↓", other));
  memory_column heap{"heap", {}};
  if (traced_frame.address && !traced_frame.freed_address) {
    const auto at = reinterpret_cast<std::uintptr_t>(traced_frame.address);
    heap.boxes.push_back({"frame of x", at, traced_frame.size, frame_notes(frame_state), true});
  }
  picture.columns.push_back(std::move(heap));
  page_.add(std::move(picture));
}

activation frame_diary::f_waiting(const std::string& note) const {
  return {"f", f_position, f_below, {note}};
}

void frame_diary::before_call() {
  draw("1  f runs, x is not yet called", {10}, {f_waiting("about to call x")}, {}, "");
}
void frame_diary::inside_g(std::uintptr_t g_position, std::uintptr_t g_below) {
  const std::uintptr_t x_position = traced_frame.started_at;
  draw("2  call: f called x, which called g", {11, 3, 1},
       {{"f", f_position, x_position, {"waits for x"}},
        {"x", x_position, g_position, {"runs on the stack of f; what it needs later is in the frame"}},
        {"g", g_position, g_below, {"an ordinary call"}}},
       {}, "running");
}
void frame_diary::suspended() {
  draw("3  suspend: x left the stack, its frame stays", {4, 11}, {f_waiting("goes on after the call of x")},
       {}, "suspended at co_await");
}
void frame_diary::resumed(std::uintptr_t x_position, std::uintptr_t x_below) {
  draw("4  resume: h goes on with x on another thread", {12, 8, 5}, {f_waiting("waits for thread 2")},
       {{"h", h_position, x_position, {"called resume()"}},
        {"x", x_position, x_below, {"the same frame on another stack"}}},
       "running on thread 2");
}
void frame_diary::completed() {
  draw("5  return: x ended, its result waits in the frame", {5, 8}, {f_waiting("waits for thread 2")},
       {{"h", h_position, h_below, {"resume() has returned"}}}, "suspended at its end");
}
void frame_diary::destroyed() {
  draw("6  destroy: the frame is gone", {14}, {f_waiting("took the result, destroyed x")}, {}, "");
  page_.say("Freed: " + byte_size(static_cast<double>(traced_frame.freed_size)) + " at " +
            address(traced_frame.freed_address) + ".");
}

void frame_diary::table_of_places() {
  table places{"Where the variables were", {"what", "remark", "seen on", "address", "that is"}, {}};
  for (const sighting& each : sightings_) {
    places.rows.push_back(
        {each.name, each.remark, each.on_main ? "main" : "thread 2", address(each.place), where(each.place)});
  }
  page_.add(std::move(places));
}
}  // namespace tour
