// coracle/channels/detail/basic_channel.hpp -- the common base of the channels.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/channels/channel_closed.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace coracle::detail {
/// A channel whose elements are stored in a `Buffer`, which is not synchronised.
template <class T, class Buffer>
class basic_channel {
 public:
  explicit basic_channel(std::size_t capacity) : buffer_(capacity) {}
  basic_channel(const basic_channel&) = delete;
  basic_channel& operator=(const basic_channel&) = delete;
  ~basic_channel() {
    CORACLE_REQUIRE(receivers_.empty() && senders_.empty(),
                    "a channel was destroyed while coroutines wait for it");
  }

  class send_operation;
  class send_copy_operation;
  class recv_operation;
  recv_operation recv() noexcept { return recv_operation{*this}; }
  std::optional<T> try_recv() noexcept {
    std::optional<T> taken;
    static_cast<void>(recv_now(taken));
    return taken;
  }
  void close() noexcept;
  bool is_closed() const noexcept { return (state_.load(memory_order_acquire) & closed) != 0; } /*C1*/

 protected:
  // Both return true if the operation has completed: sent or rejected; received, or nothing will ever arrive.
  bool send_now(T& value, bool& refused) noexcept;
  bool recv_now(std::optional<T>& into) noexcept;
  const Buffer& buffer() const noexcept { return buffer_; }
  /// Calls `change` on the buffer, under the lock. Requires: if `change` makes room, no sender waits for it.
  template <class Change>
  void change_buffer(Change change) noexcept {
    const word seen = state_.lock();
    change(buffer_);
    state_.unlock(seen);
  }

 private:
  using word = std::uint32_t;

  /// True for a paired_ring: while the word is 0, its ends are used without the lock.
  static constexpr bool has_own_ends = Buffer::has_own_ends;

  /// For all but ready sends and receives: gives the caller the whole buffer.
  word lock() noexcept {
    const word seen = state_.lock();
    if constexpr (has_own_ends) {
      if (seen == 0) buffer_.join();
    }
    return seen;
  }
  bool send_or_serve(word seen, T& value, bool& refused) noexcept;
  bool recv_or_serve(word seen, std::optional<T>& into) noexcept;
  // Under the lock. They return the waiter that the caller wakes after releasing it.
  waiter* hand_over(queued_waiter& receiver, T& value) noexcept;
  waiter* take_from(queued_waiter& sender, std::optional<T>& into) noexcept;
  waiter* pop(std::optional<T>& into) noexcept;
  void unlock_and_wake(word seen, waiter* served) noexcept;

  // The lock guards everything but the word. A coroutine waits only if it must: a receiver, if there is
  // neither an element nor a waiting sender; a sender, if the buffer is full. Nobody waits once the channel
  // is closed. While the word is 0 nobody waits at all. `joined` only keeps the word from being 0.
  //   [C1] load   acquire   sees what was done before close()   pairs with B2
  static constexpr word closed = 2, waited_for = 4, joined = 8;
  locked_word<word> state_{has_own_ends ? joined : 0};
  Buffer buffer_;
  wait_queue receivers_;
  wait_queue senders_;
};

template <class T, class Buffer>
class [[nodiscard("nothing is sent until this is awaited")]] basic_channel<T, Buffer>::send_operation
    : public stoppable_wait<send_operation> {
 public:
  send_operation(basic_channel& to, T& value) noexcept : channel_(&to), value_(__builtin_addressof(value)) {}
  void await_resume() {
    this->finish();
    if (refused_) [[unlikely]]
      throw_channel_closed();
  }

 protected:
  void refer_to(T& value) noexcept { value_ = __builtin_addressof(value); }

 private:
  friend stoppable_wait<send_operation>;
  friend basic_channel;
  bool try_now() noexcept {
    if (channel_->send_now(*value_, refused_)) return true;
    if constexpr (has_own_ends)
      return channel_->buffer_.full_no_more() && channel_->send_now(*value_, refused_);
    return false;
  }
  bool enqueue() noexcept;
  bool withdraw() noexcept {
    const word seen = channel_->lock();
    const bool waited = channel_->senders_.withdraw(this->node());
    channel_->unlock_and_wake(seen, nullptr);
    return waited;
  }

  basic_channel* channel_;
  T* value_;
  bool refused_ = false;
};

template <class T, class Buffer>
class [[nodiscard("nothing is sent until this is awaited")]] basic_channel<T, Buffer>::send_copy_operation
    : public send_operation {
 public:
  send_copy_operation(basic_channel& to, const T& value) : send_operation(to, copy_), copy_(value) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    this->refer_to(copy_);
    return send_operation::await_suspend(suspended);
  }

 private:
  T copy_;
};

template <class T, class Buffer>
class [[nodiscard("nothing is received until this is awaited")]] basic_channel<T, Buffer>::recv_operation
    : public stoppable_wait<recv_operation> {
 public:
  explicit recv_operation(basic_channel& from) noexcept : channel_(&from) {}
  using stoppable_wait<recv_operation>::try_at_once;
  std::optional<T> await_resume() {
    this->finish();
    return std::move(taken_);
  }

 private:
  friend stoppable_wait<recv_operation>;
  friend basic_channel;
  bool try_now() noexcept {
    if (channel_->recv_now(taken_)) return true;
    if constexpr (has_own_ends) return channel_->buffer_.empty_no_more() && channel_->recv_now(taken_);
    return false;
  }
  bool enqueue() noexcept;
  bool withdraw() noexcept {
    const word seen = channel_->lock();
    const bool waited = channel_->receivers_.withdraw(this->node());
    channel_->unlock_and_wake(seen, nullptr);
    return waited;
  }

  basic_channel* channel_;
  std::optional<T> taken_;
};

template <class T, class Buffer>
void basic_channel<T, Buffer>::unlock_and_wake(word seen, waiter* served) noexcept {
  word left = (seen & closed) | (receivers_.empty() && senders_.empty() ? 0 : waited_for);
  if constexpr (has_own_ends) {
    if (buffer_.stay_joined(left != 0)) left |= joined;
  }
  state_.unlock(left);
  if (served) served->wake();
}
template <class T, class Buffer>
waiter* basic_channel<T, Buffer>::hand_over(queued_waiter& receiver, T& value) noexcept {
  recv_operation::operation_of(receiver).taken_.emplace(std::move(value));
  if constexpr (has_own_ends) buffer_.note_receiver(receiver.home != current_executor());
  return &receiver;
}
template <class T, class Buffer>
waiter* basic_channel<T, Buffer>::take_from(queued_waiter& sender, std::optional<T>& into) noexcept {
  into.emplace(std::move(*send_operation::operation_of(sender).value_));
  return &sender;
}
/// Takes an element and lets a waiting sender fill the free slot. Requires: the buffer is not empty.
template <class T, class Buffer>
waiter* basic_channel<T, Buffer>::pop(std::optional<T>& into) noexcept {
  into.emplace(buffer_.pop());
  queued_waiter* const sender = senders_.claim();
  if (sender) {
    buffer_.push(std::move(*send_operation::operation_of(*sender).value_));
    if constexpr (has_own_ends) buffer_.note_sender(sender->home != current_executor());
  }
  return sender;
}

/// Returns true if the value was sent or rejected.
template <class T, class Buffer>
CORACLE_ALWAYS_INLINE()
bool basic_channel<T, Buffer>::send_now(T& value, bool& refused) noexcept {
  if constexpr (has_own_ends) {
    while (!buffer_.enter_back(state_)) [[unlikely]] {
      if (const word seen = state_.lock_unless_zero()) return send_or_serve(seen, value, refused);
    }
    const bool room = !buffer_.full();
    room ? buffer_.push(std::move(value)) : buffer_.leave_back();
    return room;
  }
  const word seen = state_.lock();
  if (seen != 0) [[unlikely]]
    return send_or_serve(seen, value, refused);
  const bool room = !buffer_.full();
  if (room) buffer_.push(std::move(value));
  state_.unlock(0);
  return room;
}
template <class T, class Buffer>
CORACLE_NOINLINE()
bool basic_channel<T, Buffer>::send_or_serve(word seen, T& value, bool& refused) noexcept {
  refused = (seen & closed) != 0;
  queued_waiter* const receiver = refused ? nullptr : receivers_.claim();
  const bool room = !refused && !receiver && !buffer_.full();
  if (room) buffer_.push(std::move(value));
  unlock_and_wake(seen, receiver ? hand_over(*receiver, value) : nullptr);
  return refused || receiver || room;
}
/// As send_or_serve(), for a send that may be a branch of a choice, and that waits if it must.
template <class T, class Buffer>
bool basic_channel<T, Buffer>::send_operation::enqueue() noexcept {
  basic_channel& to = *channel_;
  const word seen = to.lock();
  waiter* served = nullptr;
  bool waits = false;
  if ((seen & closed) != 0) {
    refused_ = to.senders_.serve_at_once(this->node());
  } else if (queued_waiter* const receiver = to.receivers_.meet(this->node())) {
    served = to.hand_over(*receiver, *value_);
  } else if (to.buffer_.full()) {
    waits = to.senders_.push(this->node());
  } else if (to.senders_.serve_at_once(this->node())) {
    to.buffer_.push(std::move(*value_));
  }
  to.unlock_and_wake(seen, served);
  return waits;
}

/// Returns true with an element, or without one if none will ever arrive.
template <class T, class Buffer>
CORACLE_ALWAYS_INLINE()
bool basic_channel<T, Buffer>::recv_now(std::optional<T>& into) noexcept {
  if constexpr (has_own_ends) {
    while (!buffer_.enter_front(state_)) [[unlikely]] {
      if (const word seen = state_.lock_unless_zero()) return recv_or_serve(seen, into);
    }
    const bool found = !buffer_.empty();
    found ? static_cast<void>(into.emplace(buffer_.pop())) : buffer_.leave_front();
    return found;
  }
  const word seen = state_.lock();
  if (seen != 0) [[unlikely]]
    return recv_or_serve(seen, into);
  const bool found = !buffer_.empty();
  if (found) into.emplace(buffer_.pop());
  state_.unlock(0);
  return found;
}
template <class T, class Buffer>
CORACLE_NOINLINE()
bool basic_channel<T, Buffer>::recv_or_serve(word seen, std::optional<T>& into) noexcept {
  waiter* served = nullptr;
  if (!buffer_.empty()) {
    served = pop(into);
  } else if (queued_waiter* const sender = senders_.claim()) {
    served = take_from(*sender, into);
  }
  const bool over = into.has_value() || (seen & closed) != 0;
  unlock_and_wake(seen, served);
  return over;
}
template <class T, class Buffer>
bool basic_channel<T, Buffer>::recv_operation::enqueue() noexcept {
  basic_channel& from = *channel_;
  const word seen = from.lock();
  waiter* served = nullptr;
  bool waits = false;
  if (!from.buffer_.empty()) {
    if (from.receivers_.serve_at_once(this->node())) served = from.pop(taken_);
  } else if (queued_waiter* const sender = from.senders_.meet(this->node())) {
    served = from.take_from(*sender, taken_);
  } else if ((seen & closed) != 0) {
    static_cast<void>(from.receivers_.serve_at_once(this->node()));
  } else {
    waits = from.receivers_.push(this->node());
  }
  from.unlock_and_wake(seen, served);
  return waits;
}

template <class T, class Buffer>
void basic_channel<T, Buffer>::close() noexcept {
  static_cast<void>(lock());
  waiter* const receivers = receivers_.claim_all();
  queued_waiter* const senders = senders_.claim_all();
  for (auto* each = senders; each; each = static_cast<queued_waiter*>(each->next)) {
    send_operation::operation_of(*each).refused_ = true;
  }
  unlock_and_wake(closed, nullptr);
  wake_all(receivers);
  wake_all(senders);
}
}  // namespace coracle::detail
