// src/io/made_when_needed.hpp -- an object that is constructed when a thread first needs it.
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
  /// Null if the object has not been made.
  [[nodiscard]] T* get() noexcept { return made_.load(memory_order_acquire); } /*G1*/
  /// Throws what the constructor of T throws; the next call then tries again.
  T& make() {
    T* const made = get();
    return made ? *made : make_first();
  }
  /// Null if the constructor of T has thrown.
  T* try_make() noexcept {
    try {
      return &make();
    } catch (...) {
      return nullptr;
    }
  }

 private:
  CORACLE_NOINLINE() T& make_first() {
    const std::lock_guard lock{mutex_};
    if (!object_) {
      object_.emplace();
      made_.store(&*object_, memory_order_release); /*G2*/
    }
    return *object_;
  }

  //   [G1] load          acquire  sees the object       pairs with G2
  //   [G2] null -> made  release  publishes the object  pairs with G1
  atomic<T*> made_{nullptr};
  mutex mutex_;
  std::optional<T> object_;  // belongs to mutex_ until it is made, and is never replaced
};
}  // namespace coracle::detail
