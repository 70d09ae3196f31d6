// coracle/channels/oneshot.hpp -- a channel for one value.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/broken_promise.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {
template <class T>
class oneshot_sender;
template <class T>
class oneshot_receiver;

namespace detail {
class no_oneshot_value final : public broken_promise {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "a oneshot has no value: its sender was dropped without sending, or the value was received before";
  }
};
CORACLE_THROWS_ABI() CORACLE_FAILS() inline void throw_no_oneshot_value() {
  CORACLE_THROW(
      no_oneshot_value{},
      "a oneshot has no value: its sender was dropped without sending, or the value was received before");
}
/// What throw_no_oneshot_value() throws, for programs without exceptions.
[[nodiscard]] CORACLE_COLD() std::exception_ptr no_oneshot_value_error() noexcept;

// Bits of word_: waited_for: the receiver is in queue_; sender_left: it has sent or was destroyed;
// receiver_left. The second of the two to leave deletes this. value_ belongs to the sender until it leaves,
// then to the receiver; if the receiver left first, to the sender.
//   [N1] load                        acquire  sees the sender's value                 pairs with N2, B2
//   [N2] nobody waits: sender_left   release  publishes it                            pairs with N1, B1
template <class T>
class oneshot_state : public recycled_memory {
 public:
  void put(T&& value) { value_.emplace(std::move(value)); }
  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  /// Requires: has_value().
  T take() {
    T taken = std::move(*value_);
    value_.reset();
    return taken;
  }
  /// Wakes the receiver. Returns true if the receiver has left and the caller must delete this.
  [[nodiscard]] bool sender_leaves() noexcept {
    std::uint32_t seen = 0;
    while (seen == 0) {
      if (word_.change(seen, sender_left, memory_order_release)) return false; /*N2*/
    }
    seen = word_.lock();
    waiter* const waiting = queue_.take_all();
    word_.unlock(sender_left | (seen & receiver_left));
    if (waiting) waiting->wake();
    return (seen & receiver_left) != 0;
  }
  /// Returns true if the sender has left and the caller must delete this.
  [[nodiscard]] bool receiver_leaves() noexcept {
    if (sender_has_left()) return true;
    const std::uint32_t seen = word_.lock();
    CORACLE_REQUIRE(
        (seen & waited_for) == 0,
        "a oneshot_receiver was destroyed while a coroutine waits for its value: stop and join it first");
    word_.unlock(seen | receiver_left);
    return (seen & sender_left) != 0;
  }
  [[nodiscard]] bool sender_has_left() const noexcept {
    return (word_.load(memory_order_acquire) & sender_left) != 0; /*N1*/
  }
  bool enqueue(queued_waiter& receiver) noexcept {
    const std::uint32_t seen = word_.lock();
    CORACLE_REQUIRE((seen & waited_for) == 0,
                    "concurrent recv() of a oneshot_receiver: it has one consumer at a time");
    bool waits = false;
    if ((seen & sender_left) != 0) {
      static_cast<void>(queue_.serve_at_once(receiver));
    } else {
      waits = queue_.push(receiver);
    }
    word_.unlock(waits ? seen | waited_for : seen);
    return waits;
  }
  bool withdraw(queued_waiter& receiver) noexcept {
    const std::uint32_t seen = word_.lock();
    const bool waited = queue_.withdraw(receiver);
    word_.unlock(waited ? seen & ~waited_for : seen);
    return waited;
  }

 private:
  static constexpr std::uint32_t waited_for = 2, sender_left = 4, receiver_left = 8;
  locked_word<std::uint32_t> word_{0};
  wait_queue queue_;
  plain<std::optional<T>> value_;
};
}  // namespace detail

/// The sending end of a oneshot. Movable; empty after it has sent.
template <class T>
class [[nodiscard("a oneshot whose sender is dropped never gets a value")]] oneshot_sender {
 public:
  explicit oneshot_sender(detail::oneshot_state<T>* shared) noexcept : state_(shared) {}
  oneshot_sender(oneshot_sender&& other) noexcept : state_(detail::exchange(other.state_, nullptr)) {}
  oneshot_sender& operator=(oneshot_sender&& other) noexcept {
    oneshot_sender moved(std::move(other));
    detail::swap_values(state_, moved.state_);
    return *this;
  }
  /// If it is destroyed without having sent, the receiver gets broken_promise.
  ~oneshot_sender() {
    if (state_ && state_->sender_leaves()) delete state_;
  }

  /// Sends, and wakes the receiver. Returns `value` if the receiver has left, otherwise nothing. A value that
  /// the receiver does not take is destroyed with it. Requires: not sent before.
  std::optional<T> send(T value) noexcept;
  /// Returns false if it has sent or was moved from.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  detail::oneshot_state<T>* state_;
};

/// The receiving end of a oneshot. Movable, even while a coroutine waits, which still receives the value.
template <class T>
class [[nodiscard("a oneshot whose receiver is dropped keeps no value")]] oneshot_receiver {
 public:
  explicit oneshot_receiver(detail::oneshot_state<T>* shared) noexcept : state_(shared) {}
  oneshot_receiver(oneshot_receiver&& other) noexcept : state_(detail::exchange(other.state_, nullptr)) {}
  oneshot_receiver& operator=(oneshot_receiver&& other) noexcept {
    oneshot_receiver moved(std::move(other));
    detail::swap_values(state_, moved.state_);
    return *this;
  }
  /// Requires: no coroutine is waiting.
  ~oneshot_receiver() {
    if (state_ && state_->receiver_leaves()) delete state_;
  }

  class recv_operation;
  /// Awaitable of the value, moved out. After that, another recv() throws broken_promise.
  recv_operation recv() noexcept { return recv_operation{state_}; }

 private:
  detail::oneshot_state<T>* state_;
};

template <class T>
class [[nodiscard("recv() does nothing until it is awaited")]] oneshot_receiver<T>::recv_operation
    : public detail::stoppable_wait<recv_operation> {
 public:
  explicit recv_operation(detail::oneshot_state<T>* shared) noexcept : state_(shared) {
    CORACLE_REQUIRE(shared, "recv() of a oneshot_receiver that was moved from");
  }
  T await_resume() {
    this->finish();
    if (!state_->has_value()) [[unlikely]]
      detail::throw_no_oneshot_value();
    return state_->take();
  }
  [[nodiscard]] std::exception_ptr await_failure() const noexcept {
    return state_->has_value() ? nullptr : detail::no_oneshot_value_error();
  }

 private:
  friend detail::stoppable_wait<recv_operation>;
  bool try_now() const noexcept { return state_->sender_has_left(); }
  bool enqueue() noexcept { return state_->enqueue(this->node()); }
  bool withdraw() noexcept { return state_->withdraw(this->node()); }

  detail::oneshot_state<T>* state_;
};

/// A channel for one value, in two ends: for instance, a request that carries the sender for its reply.
///
///     auto [reply, answer] = coracle::oneshot<int>();
///     request mine{question, std::move(reply)};
///     co_await requests.send(std::move(mine));  // the server: taken.reply.send(42)
///     int result = co_await answer.recv();
///
/// Prefer a task if the waiting side starts the work.
/// Resumes on    recv(): the executor on which the receiver suspended; outside any executor, inside send(),
///               on its thread.
/// Cancellation  a stop request ends the wait; the value stays for another recv(), or is destroyed with the
///               receiver.
/// Exceptions    recv(): broken_promise if the sender was dropped without a value; operation_cancelled.
///               oneshot(): std::bad_alloc.
/// Threads       each end belongs to one thread at a time.
/// Cost          one allocation, from the recycler; one atomic operation to send, another if the receiver
///               waits.
template <class T>
  requires std::is_object_v<T> && std::is_nothrow_move_constructible_v<T> && detail::fits_into_frame<T>
[[nodiscard("both ends are dropped")]] std::pair<oneshot_sender<T>, oneshot_receiver<T>> oneshot() {
  auto* const shared = new detail::oneshot_state<T>;
  return {oneshot_sender<T>{shared}, oneshot_receiver<T>{shared}};
}
template <class T>
auto oneshot() {
  static_assert(std::is_object_v<T>,
                "a oneshot carries an object: send a pointer instead of a reference, and std::monostate as a "
                "plain signal");
  static_assert(
      !std::is_object_v<T> || std::is_nothrow_move_constructible_v<T>,
      "the value of a oneshot must have a noexcept move constructor: send a std::unique_ptr to it instead");
  static_assert(
      !std::is_object_v<T> || detail::fits_into_frame<T>,
      "the value of a oneshot is aligned to 16 bytes at most: send a std::unique_ptr to it instead");
  return std::pair<detail::any_awaiter, detail::any_awaiter>{};
}

template <class T>
std::optional<T> oneshot_sender<T>::send(T value) noexcept {
  CORACLE_REQUIRE(state_, "a oneshot_sender sent twice, or was moved from: each sends one value");
  std::optional<T> given_back;
  state_->put(std::move(value));
  auto* const shared = detail::exchange(state_, nullptr);
  if (shared->sender_leaves()) {
    given_back.emplace(shared->take());
    delete shared;
  }
  return given_back;
}
}  // namespace coracle
