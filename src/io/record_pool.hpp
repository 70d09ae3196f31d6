// src/io/record_pool.hpp -- the records that a backend keeps about its descriptors, and reuses.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle::detail {
/// Provides records, and reuses those that are given back. A record keeps its address and is not destroyed
/// before the pool: a backend may still hold the address of a record whose descriptor has been closed.
///
/// Threads  all members may be called from any thread.
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
  /// Returns every record, also those that are not in use. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Record*> all() {
    const std::lock_guard lock{mutex_};
    std::vector<Record*> found;
    found.reserve(all_.size());
    for (const std::unique_ptr<Record>& each : all_) found.push_back(each.get());
    return found;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Record>> all_;
  Record* free_ = nullptr;
  std::size_t in_use_ = 0;
};
}  // namespace coracle::detail
