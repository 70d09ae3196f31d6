// SPDX-License-Identifier: MIT
// What the recorded turns say of threads and tasks.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols.hpp"
#include "turn_recorder.hpp"

namespace coracle::detail {
class trace_analysis {
 public:
  /// A turn, on its thread.
  struct turn {
    std::size_t thread = 0;  ///< index into threads()
    std::uintptr_t function = 0, frame = 0;
    std::int64_t begin = 0, end = 0;
    std::int64_t queued = -1;  ///< how long; -1: not known
    std::string waited;        ///< what for, before it was queued; empty: not known
    std::size_t task = none;
  };
  enum class doing : std::uint8_t { runs, queued, waits };
  struct span {
    doing what = doing::runs;
    std::int64_t begin = 0, end = 0;
    std::string why;  ///< of `waits`
  };
  /// A coroutine with those that it awaits one after the other.
  struct task {
    std::uintptr_t function = 0, frame = 0;
    std::size_t awaited_by = none;  ///< that task, through a combinator
    std::vector<span> spans;        ///< the oldest first
    std::int64_t last = 0;          ///< when the last of them ended
    std::int64_t suspended_at = 0;  ///< the end of its last turn; 0: none has ended
    bool awaits_children = false;   ///< since then
    bool has_ended = false;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  trace_analysis(const trace_data& of, symbols& names);

  [[nodiscard]] const std::vector<turn>& turns() const noexcept { return turns_; }
  [[nodiscard]] const std::vector<task>& tasks() const noexcept { return tasks_; }
  /// The time from which on nothing is missing.
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::string name_of(std::uintptr_t function) const;

 private:
  struct located {
    const turn_event* event;
    std::size_t thread;
  };
  struct post {
    std::int64_t time = 0;
    bool by_io = false;
  };

  void read(const located& each);
  void begin_turn(const turn_event& event, std::size_t thread);
  void end_turn(const turn_event& event, std::size_t thread);
  std::size_t task_at(std::uintptr_t frame, std::uintptr_t function, std::int64_t now);
  void add(task& to, doing what, std::int64_t end, std::string why = {});
  [[nodiscard]] bool is_awaited(std::uintptr_t through) const;
  [[nodiscard]] std::string wait_before(const turn_event& event);

  symbols& names_;
  std::int64_t begin_ = 0, end_ = 0;
  std::vector<turn> turns_;
  std::vector<task> tasks_;
  std::vector<std::vector<std::size_t>> under_way_;             // for each thread, the turns, outermost first
  std::unordered_map<std::uintptr_t, std::size_t> active_;      // tasks, by their frames
  std::unordered_map<std::uintptr_t, post> posts_;              // by the frame
  std::unordered_map<std::uintptr_t, std::string> wait_texts_;  // by the function
};
}  // namespace coracle::detail
