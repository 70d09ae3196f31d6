// coracle/channels/detail/publication.hpp -- an increasing count and the coroutines that wait for it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/recycled_allocator.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace coracle::detail {
/// State shared by a publisher and its readers: the number of publications, whether it has ended, and the
/// waiting readers. The owner stores what is published, and changes and reads it under this lock.
//
// word_ holds the count from bit 2 on; bit 1: ended; the count then no longer changes.
//   [U1] load   relaxed  decides whether to wait; what was published is then read under the lock
class publication {
 public:
  static constexpr std::uint64_t ended = 2, one = 4;

  publication() noexcept : word_(0) {}

  [[nodiscard]] static std::uint64_t count_of(std::uint64_t word) noexcept { return word / one; }
  /// Returns true if there are more publications than `seen`, or if there never will be.
  [[nodiscard]] bool is_past(std::uint64_t seen) const noexcept {
    return is_past(word_.load(memory_order_relaxed), seen); /*U1*/
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    return count_of(word_.load(memory_order_relaxed)); /*U1*/
  }
  /// Returns true if the count no longer changes.
  [[nodiscard]] bool has_ended() const noexcept {
    return (word_.load(memory_order_relaxed) & ended) != 0; /*U1*/
  }

  /// Calls `store(count)` under the lock, then wakes the readers. Returns false, without calling `store`, if
  /// it has ended.
  template <class Store>
  bool publish(Store store) noexcept {
    const std::uint64_t seen = word_.lock();
    if ((seen & ended) != 0) {
      word_.unlock(seen);
      return false;
    }
    store(count_of(seen));
    release(seen + one);
    return true;
  }
  /// Wakes the readers, which still see what was published before.
  void end() noexcept { release(word_.lock() | ended); }
  /// Calls `load(count)` under the lock.
  template <class Load>
  void read(Load load) noexcept {
    const std::uint64_t seen = word_.lock();
    load(count_of(seen));
    word_.unlock(seen);
  }

  bool enqueue(queued_waiter& reader, std::uint64_t seen_by_reader) noexcept {
    const std::uint64_t seen = word_.lock();
    bool waits = false;
    if (is_past(seen, seen_by_reader)) {
      static_cast<void>(readers_.serve_at_once(reader));
    } else {
      waits = readers_.push(reader);
    }
    word_.unlock(seen);
    return waits;
  }
  bool withdraw(queued_waiter& reader) noexcept {
    const std::uint64_t seen = word_.lock();
    const bool waited = readers_.withdraw(reader);
    word_.unlock(seen);
    return waited;
  }

 private:
  static bool is_past(std::uint64_t word, std::uint64_t seen) noexcept {
    return count_of(word) > seen || (word & ended) != 0;
  }
  /// Requires: the lock is held.
  void release(std::uint64_t word) noexcept {
    waiter* const first = readers_.take_all();
    word_.unlock(word);
    wake_all(first);
  }

  locked_word<std::uint64_t> word_;
  wait_queue readers_;
};

/// Base of an awaiter: waits until there are publications that its reader has not seen when it is awaited.
/// Waiting takes nothing, so a cancelled wait loses nothing.
class wait_for_more : public stoppable_wait<wait_for_more> {
 protected:
  /// `seen` belongs to the reader, which outlives this.
  wait_for_more(publication& shared, const std::uint64_t& seen) noexcept : shared_(&shared), seen_(&seen) {}

 private:
  friend stoppable_wait;
  bool try_now() const noexcept { return shared_->is_past(*seen_); }
  bool enqueue() noexcept { return shared_->enqueue(node(), *seen_); }
  bool withdraw() noexcept { return shared_->withdraw(node()); }

  publication* shared_;
  const std::uint64_t* seen_;
};

/// A value shared by all readers, so that none copies it under the lock.
template <class T>
std::shared_ptr<const T> make_published(T&& value) {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "an over-aligned object cannot be published: publish a std::shared_ptr to it");
  return std::allocate_shared<const T>(recycled_allocator<T>{}, std::move(value));
}
}  // namespace coracle::detail
