// cppcoro/async_mutex.hpp -- coracle::async_mutex as cppcoro has it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/sync/async_mutex.hpp>
#include <utility>

// std::adopt_lock_t without the rest of <mutex>. A version that is not known yet may have it elsewhere.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/std_mutex.h>)
#include <bits/std_mutex.h>
#else
#include <mutex>
#endif

namespace cppcoro {
/// As coracle::async_mutex, but it may be destroyed while it is held, if nobody waits.
///
///     auto lock = co_await mutex.scoped_lock_async();
class async_mutex : public coracle::async_mutex {
 public:
  async_mutex() noexcept = default;
  /// Requires: no coroutine is waiting.
  ~async_mutex() {
    static_cast<void>(try_lock());
    unlock();  // a waiter would now hold it, and coracle's own check says so
  }
};
using async_mutex_lock_operation = coracle::async_mutex::lock_operation;
using async_mutex_scoped_lock_operation = coracle::async_mutex::scoped_lock_operation;

/// As coracle::async_mutex_lock, with the constructor that marks an adopted lock.
class [[nodiscard("an unused lock unlocks at once: give it a name")]] async_mutex_lock
    : public coracle::async_mutex_lock {
 public:
  /// Takes over a lock that the caller holds.
  explicit async_mutex_lock(coracle::async_mutex& held, std::adopt_lock_t) noexcept
      : coracle::async_mutex_lock(adopt(held)) {}
  async_mutex_lock(coracle::async_mutex_lock&& other) noexcept  // NOLINT: what scoped_lock_async() gives
      : coracle::async_mutex_lock(std::move(other)) {}
};
}  // namespace cppcoro
