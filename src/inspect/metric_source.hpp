// SPDX-License-Identifier: MIT
// How read_runtime_metrics() finds the schedulers: each enters a list when it is constructed.
#pragma once
#include <coracle/base/thread.hpp>
#include <coracle/inspect/runtime_metrics.hpp>

namespace coracle::detail {
/// The most entries of one list that are counted under a lock.
inline constexpr std::size_t most_counted = 4096;

#if defined(CORACLE_MODEL)
/// A program of the model checker's has no metrics.
class metric_source {
 public:
  void show() noexcept {}
  void hide() noexcept {}
  virtual void add_to(runtime_metrics& to) = 0;

 protected:
  ~metric_source() = default;
  [[nodiscard]] static std::uint64_t number() noexcept { return 0; }
};
inline thread_metrics metrics_of(thread_handle) noexcept { return {}; }
#else
/// Part of a scheduler, for which it adds a row.
class metric_source {
 public:
  metric_source() noexcept = default;
  metric_source(const metric_source&) = delete;
  metric_source& operator=(const metric_source&) = delete;

  /// Enters the list. add_to() may be called on another thread from now on.
  void show() noexcept;
  /// Leaves the list, if it is there. add_to() is not called any more, and has returned.
  void hide() noexcept;
  virtual void add_to(runtime_metrics& to) = 0;

 protected:
  ~metric_source() = default;
  /// Of all that are shown, 1 for the first.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  friend runtime_metrics coracle::read_runtime_metrics();
  metric_source* next_ = nullptr;
  metric_source** link_ = nullptr;  ///< what refers to it; null if it is not in the list
  std::uint64_t number_ = 0;
};

/// Requires: the thread has not ended.
[[nodiscard]] thread_metrics metrics_of(thread_handle thread) noexcept;
#endif
}  // namespace coracle::detail
