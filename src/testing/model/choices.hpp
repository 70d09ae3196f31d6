// src/testing/model/choices.hpp -- the choices of an execution, and the alternatives left to try.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace coracle::testing::model {
/// A set of threads, one bit each.
using thread_set = std::uint8_t;
constexpr thread_set set_of(unsigned thread) noexcept { return static_cast<thread_set>(1U << thread); }

/// The sequence of choices that an execution has made. A depth-first search over these sequences visits every
/// execution once.
class model_choices {
 public:
  static constexpr int none = -1;

  void begin_execution() noexcept {
    next_ = 0;
    misfit_ = nullptr;
  }
  /// Returns true while the execution repeats the previous one: nothing that follows from it is new.
  [[nodiscard]] bool repeats() const noexcept { return next_ < path_.size(); }

  /// Returns null, or the reason why the sequence cannot be repeated.
  [[nodiscard]] const char* misfit() const noexcept { return misfit_; }

  /// Returns one of `count` choices.
  unsigned choose(unsigned count);
  /// Returns one of the threads that can run and are not asleep; at a new place `first`. `wanted`: those that
  /// must be tried eventually.
  unsigned choose_thread(thread_set can_run, thread_set asleep, thread_set wanted, unsigned first);
  /// Returns the place of the last choose_thread().
  [[nodiscard]] int last_place() const noexcept { return static_cast<int>(next_) - 1; }
  /// Returns the threads already tried at that place.
  [[nodiscard]] thread_set done_at(int place) const noexcept { return at(place).done; }
  /// Requires that one of `first` is tried at that place.
  void want(int place, thread_set first) noexcept;

  /// Advances to the next sequence. Returns false after the last.
  bool advance();
  /// Resets to an unknown sequence.
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
    std::uint8_t count, taken;  ///< count 0: a choice of threads, or, if none can run, as read() found it
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
