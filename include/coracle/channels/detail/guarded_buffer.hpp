// coracle/channels/detail/guarded_buffer.hpp -- the elements of a channel, and the word that guards them.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/base/locked_word.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle::detail {
/// The word of a channel. 0: the channel is open, and no coroutine waits.
//
//   [C1] load   acquire   sees what was done before close()   pairs with B2
class channel_word : public locked_word<std::uint32_t> {
 public:
  using bits = std::uint32_t;
  static constexpr bits closed = 2;      // permanent
  static constexpr bits waited_for = 4;  // a sender or a receiver is in its queue
  static constexpr bits joined = 8;      // the ends of a paired_ring are joined; else never set

  using locked_word::locked_word;

  [[nodiscard]] bool is_closed() const noexcept { return (load(memory_order_acquire) & closed) != 0; } /*C1*/
};

/// The buffer of a channel behind the lock of its word. It is used in two ways:
///   - To send or receive one element while nobody waits: enter_back() or enter_front(). If it returns 0, the
///     caller may use that end once, and leaves it. Otherwise the channel is locked, as by lock(), and its
///     word is returned.
///   - For everything else: lock(), any number of uses, unlock().
template <class Buffer>
class guarded_buffer {
 public:
  using word = channel_word::bits;
  using value_type = typename Buffer::value_type;

  explicit guarded_buffer(std::size_t capacity) : buffer_(capacity) {}

  [[nodiscard]] word lock() noexcept { return state_.lock(); }
  void unlock(word flags) noexcept { state_.unlock(flags); }
  [[nodiscard]] bool is_closed() const noexcept { return state_.is_closed(); }
  /// Requires: locked, or an end that the caller has entered.
  Buffer& buffer() noexcept { return buffer_; }
  /// For what never changes.
  const Buffer& buffer() const noexcept { return buffer_; }

  [[nodiscard]] word enter_back() noexcept { return state_.lock(); }
  [[nodiscard]] word enter_front() noexcept { return state_.lock(); }
  void leave_back() noexcept { state_.unlock(0); }
  void leave_front() noexcept { state_.unlock(0); }
  void push_and_leave(value_type&& value) noexcept {
    buffer_.push(std::move(value));
    leave_back();
  }
  value_type pop_and_leave() noexcept {
    value_type taken = buffer_.pop();
    leave_front();
    return taken;
  }

  // Only the ends of a paired_ring (channels/detail/paired_ring.hpp) can be watched.
  [[nodiscard]] static bool spin_while_full() noexcept { return false; }
  [[nodiscard]] static bool spin_while_empty() noexcept { return false; }
  static void note_sender(bool) noexcept {}
  static void note_receiver(bool) noexcept {}

 private:
  channel_word state_{0};
  Buffer buffer_;
};
}  // namespace coracle::detail
