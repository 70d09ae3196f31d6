// tour/recorder.hpp -- notes what happens in a run, in order and with the time, for a timeline.
// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "report.hpp"

namespace tour {
/// note() is thread-safe.
class recorder {
 public:
  recorder(std::string title, std::vector<std::string> lanes)
      : recorded_{std::move(title), std::move(lanes), {}} {}

  void note(std::size_t lane, std::string text, lane_state then, std::vector<std::size_t> lines = {}) {
    note_at(watch_.nanoseconds(), lane, std::move(text), then, std::move(lines));
  }
  /// For a run with a clock of its own, or with none.
  void note_at(double nanoseconds, std::size_t lane, std::string text, lane_state then,
               std::vector<std::size_t> lines = {}) {
    const std::lock_guard held(mutex_);
    recorded_.events.push_back({nanoseconds, lane, std::move(text), then, std::move(lines)});
  }
  /// The times count from the first event.
  [[nodiscard]] timeline take() {
    const double first = recorded_.events.empty() ? 0 : recorded_.events.front().at;
    for (happening& each : recorded_.events) each.at -= first;
    return std::move(recorded_);
  }

 private:
  std::mutex mutex_;
  stopwatch watch_;
  timeline recorded_;
};
}  // namespace tour
