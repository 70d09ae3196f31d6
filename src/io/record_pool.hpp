// src/io/record_pool.hpp -- what a backend keeps about each of its descriptors, used again and again.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle::detail {
/// Gives out records, and keeps those that are given back for the next ones. A record stays at its address, and is not
/// destroyed, for as long as the pool lives: a backend may still hold the address of one whose descriptor has been closed.
///
/// Threads  all members from any thread.
template <class Record>
class record_pool {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] Record& take() {
    const std::lock_guard lock{mutex_};
    if (!free_) {
      all_.push_back(std::make_unique<Record>());
      free_ = all_.back().get();
    }
    Record& taken = *free_;
    free_ = taken.next_free;
    ++in_use_;
    return taken;
  }
  void give_back(Record& record) noexcept {
    const std::lock_guard lock{mutex_};
    record.next_free = free_;
    free_ = &record;
    --in_use_;
  }
  [[nodiscard]] std::size_t in_use() noexcept {
    const std::lock_guard lock{mutex_};
    return in_use_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Record>> all_;
  Record* free_ = nullptr;
  std::size_t in_use_ = 0;
};
}  // namespace coracle::detail
