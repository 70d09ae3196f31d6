// tour/frame_diary.hpp -- notes where everything is during the life of a frame, and draws it.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "report.hpp"
#include "stack.hpp"

namespace tour {
/// A function that is active: its frame address, and that of what it has called.
struct activation {
  std::string name;
  std::uintptr_t position;
  std::uintptr_t below;
  std::vector<std::string> notes;
};

class frame_diary {
 public:
  explicit frame_diary(section& page) : page_(page), main_stack_(this_stack()) {}

  /// A variable of x or f, and where it was seen.
  void saw(const std::string& name, const void* place, const std::string& remark = "");
  void before_call();
  void inside_g(std::uintptr_t g_position, std::uintptr_t g_below);
  void suspended();
  void resumed(std::uintptr_t x_position, std::uintptr_t x_below);
  void completed();
  void destroyed();
  void table_of_places();

  std::uintptr_t f_position = 0;
  std::uintptr_t f_below = 0;
  std::uintptr_t h_position = 0;
  std::uintptr_t h_below = 0;

 private:
  struct sighting {
    std::string name;
    std::string remark;
    const void* place;
    bool on_main;
  };
  [[nodiscard]] std::string where(const void* place) const;
  [[nodiscard]] std::vector<std::string> frame_notes(const std::string& state) const;
  /// `lines`: of the listing that the station shows before.
  void draw(const std::string& title, const std::vector<std::size_t>& lines,
            const std::vector<activation>& main, const std::vector<activation>& other,
            const std::string& frame_state);
  [[nodiscard]] activation f_waiting(const std::string& note) const;

  section& page_;
  stack_bounds main_stack_;
  stack_bounds other_stack_;
  std::vector<sighting> sightings_;
};
}  // namespace tour
