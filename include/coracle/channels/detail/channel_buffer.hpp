// coracle/channels/detail/channel_buffer.hpp -- storage for the elements of a channel.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/exchange.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace coracle::detail {
/// Memory for one T.
template <class T>
union slot {
  slot() noexcept {}
  ~slot() {}
  T value;

  void put(T&& from) noexcept { ::new (static_cast<void*>(__builtin_addressof(value))) T(std::move(from)); }
  T take() noexcept {
    T taken(std::move(value));
    value.~T();
    return taken;
  }
};

/// A queue of at most `capacity` elements. Not synchronised.
template <class T>
class ring_buffer {
 public:
  using value_type = T;

  /// Throws std::bad_alloc.
  explicit ring_buffer(std::size_t capacity)
      : slots_(capacity ? new slot<T>[capacity] : nullptr), capacity_(capacity) {}
  ring_buffer(const ring_buffer&) = delete;
  ring_buffer& operator=(const ring_buffer&) = delete;
  ~ring_buffer() {
    while (!empty()) static_cast<void>(pop());
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }
  /// Requires: not full.
  void push(T&& value) noexcept {
    slots_[last_].put(std::move(value));
    last_ = after(last_);
    ++size_;
  }
  /// The oldest. Requires: not empty.
  T pop() noexcept {
    const std::size_t oldest = first_;
    first_ = after(oldest);
    --size_;
    return slots_[oldest].take();
  }

 private:
  std::size_t after(std::size_t index) const noexcept { return index + 1 == capacity_ ? 0 : index + 1; }

  const std::unique_ptr<slot<T>[]> slots_;
  const std::size_t capacity_;
  plain<std::size_t> first_ = 0;
  plain<std::size_t> last_ = 0;
  plain<std::size_t> size_ = 0;
};

/// A queue that grows by the chunk. It never frees one: what its fullest moment took is used again. Not
/// synchronised.
template <class T>
class chunk_buffer {
 public:
  using value_type = T;
  static constexpr std::size_t chunk_size = sizeof(T) < 256 ? 2048 / sizeof(T) : 8;
  struct chunk {
    chunk* next = nullptr;
    slot<T> slots[chunk_size];
  };

  explicit chunk_buffer(std::size_t) noexcept {}
  chunk_buffer(const chunk_buffer&) = delete;
  chunk_buffer& operator=(const chunk_buffer&) = delete;
  ~chunk_buffer() {
    while (!empty()) static_cast<void>(pop());
    free_all(first_);
    free_all(spare_);
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == last_ && taken_ == put_; }
  /// add() must come before the next push().
  [[nodiscard]] bool full() const noexcept { return put_ == chunk_size && !spare_; }
  void add(chunk& more) noexcept {
    more.next = spare_;
    spare_ = &more;
  }
  /// Requires: not full.
  void push(T&& value) noexcept {
    if (put_ == chunk_size) open_chunk();
    const std::size_t next = put_;
    put_ = next + 1;
    last_->slots[next].put(std::move(value));
  }
  /// The oldest. Requires: not empty.
  T pop() noexcept {
    if (taken_ == chunk_size) leave_chunk();
    const std::size_t oldest = taken_;
    taken_ = oldest + 1;
    return first_->slots[oldest].take();
  }

 private:
  static void free_all(chunk* each) noexcept {
    while (each) delete detail::exchange(each, each->next);
  }
  void open_chunk() noexcept {
    chunk* const opened = detail::exchange(spare_, spare_->next);
    opened->next = nullptr;
    if (last_) {
      last_->next = opened;
    } else {
      first_ = opened;
      taken_ = 0;
    }
    last_ = opened;
    put_ = 0;
  }
  void leave_chunk() noexcept {
    add(*detail::exchange(first_, first_->next));
    taken_ = 0;
  }

  plain<chunk*> first_ = nullptr;
  plain<chunk*> last_ = nullptr;
  plain<chunk*> spare_ = nullptr;
  plain<std::size_t> taken_ = chunk_size;  // of first_
  plain<std::size_t> put_ = chunk_size;    // in last_
};
}  // namespace coracle::detail
