// bench/scenario/blocking_queue.hpp -- a blocking queue, the counterpart of a channel for plain threads.
// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace coracle_bench {
/// Holds at most `capacity` elements; put() blocks while it is full.
template <class T>
class blocking_queue {
 public:
  explicit blocking_queue(std::size_t capacity) : capacity_(capacity) {}

  void put(T next) {
    std::unique_lock lock{mutex_};
    not_full_.wait(lock, [this] { return elements_.size() < capacity_; });
    elements_.push_back(std::move(next));
    not_empty_.notify_one();
  }
  /// Returns std::nullopt if the queue is closed and drained.
  std::optional<T> take() {
    std::unique_lock lock{mutex_};
    not_empty_.wait(lock, [this] { return !elements_.empty() || closed_; });
    return take_first();
  }
  /// Returns std::nullopt if the queue is closed and drained, or empty until `end`.
  template <class Time>
  std::optional<T> take_until(Time end) {
    std::unique_lock lock{mutex_};
    not_empty_.wait_until(lock, end, [this] { return !elements_.empty() || closed_; });
    return take_first();
  }
  void close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    not_empty_.notify_all();
  }
  bool is_closed() {
    const std::lock_guard lock{mutex_};
    return closed_ && elements_.empty();
  }

 private:
  std::optional<T> take_first() {
    if (elements_.empty()) return std::nullopt;
    std::optional<T> first{std::move(elements_.front())};
    elements_.pop_front();
    not_full_.notify_one();
    return first;
  }
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<T> elements_;
  bool closed_ = false;
};
}  // namespace coracle_bench
