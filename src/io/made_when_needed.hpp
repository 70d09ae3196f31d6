// src/io/made_when_needed.hpp -- an object that most programs can do without, made by the first thread that needs it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/thread.hpp>
#include <mutex>
#include <optional>

namespace coracle::detail {
/// Threads  any number of threads.
template <class T>
class made_when_needed {
 public:
  /// Null: it has not been made.
  [[nodiscard]] T* get() noexcept { return made_.load(memory_order_acquire); } /*G1*/
  /// Throws what the constructor of T throws; then the next call tries again.
  T& make() {
    if (T* const made = get()) return *made;
    const std::lock_guard lock{mutex_};
    if (!object_) {
      object_.emplace();
      made_.store(&*object_, memory_order_release); /*G2*/
    }
    return *object_;
  }
  /// Null: the constructor of T has thrown.
  T* try_make() noexcept {
    try {
      return &make();
    } catch (...) {
      return nullptr;
    }
  }

 private:
  //   [G1] load          acquire  sees the object       pairs with G2
  //   [G2] null -> made  release  publishes the object  pairs with G1
  atomic<T*> made_{nullptr};
  mutex mutex_;
  std::optional<T> object_;  // belongs to mutex_; once it is made, it stays as it is
};
}  // namespace coracle::detail
