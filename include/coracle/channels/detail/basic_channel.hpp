// coracle/channels/detail/basic_channel.hpp -- the common base of the channels.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/channels/channel_closed.hpp>
#include <coracle/channels/detail/guarded_buffer.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace coracle::detail {
/// A channel whose elements are stored in a `Buffer`.
///
/// A send or receive takes the first row that applies:
///
///   send   the channel is closed               refused: channel_closed
///          a receiver waits                    it gets the value, and is woken
///          the buffer has room                 the value goes into the buffer
///          otherwise                           waits
///   recv   the buffer has an element           takes it; the first waiting sender's value takes its slot
///          a sender waits (capacity 0)         takes its value, and wakes it
///          the channel is closed               empty
///          otherwise                           waits
///
/// So a receiver waits only beside an empty buffer, a sender only beside a full one, and nobody waits once
/// the channel is closed. Both are written three times, from the shortest path to the longest:
///   send_now(),      recv_now()       while the word is 0; never wait
///   send_or_serve(), recv_or_serve()  the same with the lock: somebody waits, or the channel is closed
///   enqueue()                         may be a branch of a when_any(), and waits if it must
///
/// The lock guards the queues, too. A waiter that is served is woken after the lock is released.
template <class T, class Buffer>
class basic_channel {
 public:
  explicit basic_channel(std::size_t capacity) : elements_(capacity) {}
  basic_channel(const basic_channel&) = delete;
  basic_channel& operator=(const basic_channel&) = delete;
  ~basic_channel() {
    CORACLE_REQUIRE(receivers_.empty() && senders_.empty(),
                    "a channel was destroyed while coroutines wait for it: stop and join them first");
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
  bool is_closed() const noexcept { return elements_.is_closed(); }

  // These reject a range-for in one error. What they return is no iterator, so a channel is no range.
  struct not_awaited {
    T& operator*() const;
    void operator++();
    bool operator!=(not_awaited) const;
  };
  template <class Self = basic_channel>
  not_awaited begin() {
    static_assert(!sizeof(Self*),
                  "a range-for awaits nothing: while (auto each = co_await c.recv()) receives each element");
    return {};
  }
  not_awaited end();

 protected:
  // Both return true if the operation has completed: sent or rejected; received, or nothing will ever arrive.
  bool send_now(T& value, bool& refused) noexcept;
  bool recv_now(std::optional<T>& into) noexcept;
  const Buffer& buffer() const noexcept { return elements_.buffer(); }
  /// Calls `change` on the buffer, under the lock. Requires: if `change` makes room, no sender waits for it.
  template <class Change>
  void change_buffer(Change change) noexcept {
    const word seen = elements_.lock();
    change(elements_.buffer());
    elements_.unlock(seen);
  }

 private:
  using word = channel_word::bits;
  static constexpr word closed = channel_word::closed, waited_for = channel_word::waited_for;

  bool send_or_serve(word seen, T& value, bool& refused) noexcept;
  bool recv_or_serve(word seen, std::optional<T>& into) noexcept;
  // Under the lock. They return the waiter that the caller wakes after releasing it.
  waiter* hand_over(queued_waiter& receiver, T& value) noexcept;
  waiter* take_from(queued_waiter& sender, std::optional<T>& into) noexcept;
  waiter* pop(std::optional<T>& into) noexcept;
  void unlock_and_wake(word seen, waiter* served) noexcept;

  guarded_buffer<Buffer> elements_;
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
  [[nodiscard]] std::exception_ptr await_failure() const noexcept {
    return refused_ ? channel_closed_error() : nullptr;
  }

 protected:
  void refer_to(T& value) noexcept { value_ = __builtin_addressof(value); }

 private:
  friend stoppable_wait<send_operation>;
  friend basic_channel;
  bool try_now() noexcept {
    return channel_->send_now(*value_, refused_) ||
           (channel_->elements_.spin_while_full() && channel_->send_now(*value_, refused_));
  }
  bool enqueue() noexcept;
  bool withdraw() noexcept {
    const word seen = channel_->elements_.lock();
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
  operator std::optional<T>() const = delete;  // co_await channel.recv()

 private:
  friend stoppable_wait<recv_operation>;
  friend basic_channel;
  bool try_now() noexcept {
    return channel_->recv_now(taken_) ||
           (channel_->elements_.spin_while_empty() && channel_->recv_now(taken_));
  }
  bool enqueue() noexcept;
  bool withdraw() noexcept {
    const word seen = channel_->elements_.lock();
    const bool waited = channel_->receivers_.withdraw(this->node());
    channel_->unlock_and_wake(seen, nullptr);
    return waited;
  }

  basic_channel* channel_;
  std::optional<T> taken_;  // moved from after an await; the next one that may not replace it resets it
};

template <class T, class Buffer>
void basic_channel<T, Buffer>::unlock_and_wake(word seen, waiter* served) noexcept {
  elements_.unlock((seen & closed) | (receivers_.empty() && senders_.empty() ? 0 : waited_for));
  if (served) served->wake();
}
template <class T, class Buffer>
waiter* basic_channel<T, Buffer>::hand_over(queued_waiter& receiver, T& value) noexcept {
  recv_operation::operation_of(receiver).taken_.emplace(std::move(value));
  elements_.note_receiver(receiver.home != current_executor());
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
  into.emplace(elements_.buffer().pop());
  queued_waiter* const sender = senders_.claim();
  if (sender) {
    elements_.buffer().push(std::move(*send_operation::operation_of(*sender).value_));
    elements_.note_sender(sender->home != current_executor());
  }
  return sender;
}

/// Returns true if the value was sent or rejected.
template <class T, class Buffer>
CORACLE_ALWAYS_INLINE()
bool basic_channel<T, Buffer>::send_now(T& value, bool& refused) noexcept {
  if (const word seen = elements_.enter_back()) [[unlikely]]
    return send_or_serve(seen, value, refused);
  const bool room = !elements_.buffer().full();
  room ? elements_.push_and_leave(std::move(value)) : elements_.leave_back();
  return room;
}
template <class T, class Buffer>
CORACLE_NOINLINE()
bool basic_channel<T, Buffer>::send_or_serve(word seen, T& value, bool& refused) noexcept {
  refused = (seen & closed) != 0;
  queued_waiter* const receiver = refused ? nullptr : receivers_.claim();
  const bool room = !refused && !receiver && !elements_.buffer().full();
  if (room) elements_.buffer().push(std::move(value));
  unlock_and_wake(seen, receiver ? hand_over(*receiver, value) : nullptr);
  return refused || receiver || room;
}
/// As send_or_serve(), for a send that may be a branch of a choice, and that waits if it must.
template <class T, class Buffer>
bool basic_channel<T, Buffer>::send_operation::enqueue() noexcept {
  basic_channel& to = *channel_;
  const word seen = to.elements_.lock();
  waiter* served = nullptr;
  bool waits = false;
  if ((seen & closed) != 0) {
    refused_ = to.senders_.serve_at_once(this->node());
  } else if (queued_waiter* const receiver = to.receivers_.meet(this->node())) {
    served = to.hand_over(*receiver, *value_);
  } else if (to.elements_.buffer().full()) {
    waits = to.senders_.push(this->node());
  } else if (to.senders_.serve_at_once(this->node())) {
    to.elements_.buffer().push(std::move(*value_));
  }
  to.unlock_and_wake(seen, served);
  return waits;
}

/// Returns true with an element, or without one if none will ever arrive.
template <class T, class Buffer>
CORACLE_ALWAYS_INLINE()
bool basic_channel<T, Buffer>::recv_now(std::optional<T>& into) noexcept {
  if (const word seen = elements_.enter_front()) [[unlikely]]
    return recv_or_serve(seen, into);
  const bool found = !elements_.buffer().empty();
  found ? static_cast<void>(into.emplace(elements_.pop_and_leave())) : elements_.leave_front();
  return found;
}
template <class T, class Buffer>
CORACLE_NOINLINE()
bool basic_channel<T, Buffer>::recv_or_serve(word seen, std::optional<T>& into) noexcept {
  into.reset();
  waiter* served = nullptr;
  if (!elements_.buffer().empty()) {
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
  taken_.reset();
  const word seen = from.elements_.lock();
  waiter* served = nullptr;
  bool waits = false;
  if (!from.elements_.buffer().empty()) {
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
  static_cast<void>(elements_.lock());
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
