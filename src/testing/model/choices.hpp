// src/testing/model/choices.hpp -- the ways in which an execution has gone on, and those that are left to try.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace coracle::testing::model {
/// Threads, each a bit.
using thread_set = std::uint8_t;
constexpr thread_set set_of(unsigned thread) noexcept { return static_cast<thread_set>(1U << thread); }

/// Where an execution can go on in several ways: which of them it took. A depth-first search over these strings
/// visits every execution once.
class model_choices {
 public:
  static constexpr int none = -1;

  void begin_execution() noexcept {
    next_ = 0;
    misfit_ = nullptr;
  }
  /// The execution still does what the one before it did: nothing that follows from it is new.
  [[nodiscard]] bool repeats() const noexcept { return next_ < path_.size(); }

  /// Null, or why what it was to repeat cannot be repeated here.
  [[nodiscard]] const char* misfit() const noexcept { return misfit_; }

  /// One of `count` ways.
  unsigned choose(unsigned count);
  /// One of the threads that can run, and is not asleep, for a new place `first`. `wanted`: those that are to be tried,
  /// sooner or later.
  unsigned choose_thread(thread_set can_run, thread_set asleep, thread_set wanted, unsigned first);
  /// The place of the last choose_thread().
  [[nodiscard]] int last_place() const noexcept { return static_cast<int>(next_) - 1; }
  /// Those that were tried at the place before.
  [[nodiscard]] thread_set done_at(int place) const noexcept { return at(place).done; }
  /// One of `first` is to be tried at that place.
  void want(int place, thread_set first) noexcept;

  /// Advances to the next string. Returns false after the last.
  bool advance();
  /// To a string of which nothing is known.
  void forget() noexcept { path_.clear(); }

  void make_random(std::uint64_t seed) {
    random_.seed(seed);
    is_random_ = true;
  }
  [[nodiscard]] bool is_random() const noexcept { return is_random_; }
  unsigned random(unsigned below) { return static_cast<unsigned>(random_() % below); }
  void follow_only() noexcept { is_random_ = false; }

  [[nodiscard]] std::string text() const;
  void read(const std::string& text);

 private:
  struct choice {
    std::uint8_t count, taken;  ///< count 0: of threads, or, if none can run, as read() found it
    thread_set can_run, asleep, wanted, done;
  };
  [[nodiscard]] const choice& at(int place) const noexcept { return path_[static_cast<std::size_t>(place)]; }
  unsigned repeat(bool is_same, bool is_possible) noexcept;
  static bool next_way(choice& each) noexcept;

  std::vector<choice> path_;
  std::size_t next_ = 0;
  const char* misfit_ = nullptr;
  bool is_random_ = false;
  std::mt19937_64 random_;
};
}  // namespace coracle::testing::model
