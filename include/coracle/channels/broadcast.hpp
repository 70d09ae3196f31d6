// coracle/channels/broadcast.hpp -- every subscriber sees every value.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/channel_closed.hpp>
#include <coracle/channels/detail/publication.hpp>
#include <optional>
#include <type_traits>

namespace coracle {
template <class T>
class broadcast_subscription;

/// Thrown by recv() of a slow subscriber: values were overwritten before it received them. The next recv()
/// continues with the oldest value that is left.
class lagged : public std::exception {
 public:
  explicit lagged(std::uint64_t lost) noexcept : lost_(lost) {}
  /// Returns the number of values that the subscriber has missed.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  [[nodiscard]] const char* what() const noexcept override {
    return "a subscriber of a broadcast was too slow: values were overwritten before it received them";
  }

 private:
  std::uint64_t lost_;
};

namespace detail {
CORACLE_THROWS_ABI() CORACLE_FAILS() inline void throw_lagged([[maybe_unused]] std::uint64_t lost) {
  CORACLE_THROW(lagged{lost},
                "a subscriber of a broadcast was too slow: values were overwritten before it received them");
}
/// What throw_lagged() throws, for programs without exceptions.
[[nodiscard]] CORACLE_COLD() std::exception_ptr lagged_error(std::uint64_t lost) noexcept;

/// A ring of the last `capacity` values: value i is at i % capacity until value i + capacity replaces it.
template <class T>
struct broadcast_state : publication {
  explicit broadcast_state(std::size_t size) : capacity(size), ring(new std::shared_ptr<const T>[size]) {}
  std::shared_ptr<const T>& at(std::uint64_t position) const noexcept { return ring[position % capacity]; }

  const std::size_t capacity;
  const std::unique_ptr<std::shared_ptr<const T>[]> ring;
};
}  // namespace detail

/// Publish/subscribe: each of any number of subscribers receives every value sent after it has subscribed.
/// Sending never waits: a subscriber that falls behind by more than `capacity` loses the oldest values, and
/// its next recv() throws `lagged`.
///
///     coracle::broadcast<price> prices{64};
///     auto mine = prices.subscribe();
///     prices.send({"ACME", 12.5});
///     while (auto p = co_await mine.recv()) show(*p);  // until it is closed and drained
///
/// Prefer watched_value if only the latest value matters, and a channel for each subscriber if no value may
/// be lost.
/// Order         all subscribers see the values in the order in which they were sent.
/// Resumes on    recv(): the executor on which the subscriber suspended; outside any executor, inside send(),
///               on its thread.
/// Cancellation  a stop request ends the wait of recv(); no value is lost.
/// Exceptions    send(): channel_closed, std::bad_alloc, what moving a T throws.
///               recv(): lagged, operation_cancelled, what copying a T throws; the next recv() then returns
///               the same value.
/// Threads       all members are thread-safe; a subscription is used by one thread at a time. Subscriptions
///               may outlive the broadcast, whose destructor closes it.
/// Cost          one allocation per value, from the recycler, and no copy; each subscriber copies it once,
///               outside the lock. If copying a T is expensive, use std::shared_ptr<const T>.
template <class T>
class broadcast {
  static_assert(
      std::is_object_v<T> && std::is_copy_constructible_v<T>,
      "each subscriber of a broadcast<T> gets a copy: T must be an object that can be copied, such as a "
      "std::shared_ptr");

 public:
  /// Keeps the last `capacity` values. Requires: at least 1.
  explicit broadcast(std::size_t capacity) : state_(std::make_shared<detail::broadcast_state<T>>(capacity)) {
    CORACLE_REQUIRE(capacity != 0, "a broadcast was constructed with a capacity of 0: it must be at least 1");
  }
  broadcast(const broadcast&) = delete;
  broadcast& operator=(const broadcast&) = delete;
  ~broadcast() { close(); }

  /// Subscribes to all values sent from now on.
  [[nodiscard("a subscription that is dropped receives nothing")]] broadcast_subscription<T> subscribe()
      const noexcept {
    return broadcast_subscription<T>{state_};
  }
  void send(T value) {
    auto element = detail::make_published(std::move(value));
    const auto replace_oldest = [&](std::uint64_t position) noexcept { state_->at(position).swap(element); };
    if (!state_->publish(replace_oldest)) detail::throw_channel_closed();
  }
  /// Closes the broadcast: subscribers receive the values sent before, then empty. No effect if already
  /// closed.
  void close() noexcept { state_->end(); }

 private:
  const std::shared_ptr<detail::broadcast_state<T>> state_;
};

/// A position in the sequence of a broadcast's values. A copy continues independently from the same position.
template <class T>
class broadcast_subscription {
 public:
  class recv_operation;
  /// Awaitable of std::optional<T>: the next value; empty once the broadcast is closed and drained. One await
  /// at a time, during which the subscription is not moved.
  recv_operation recv() noexcept {
    CORACLE_REQUIRE(state_,
                    "recv() of a broadcast_subscription that was moved from: use the one it was moved to");
    return recv_operation{*this};
  }

 private:
  friend broadcast<T>;
  explicit broadcast_subscription(const std::shared_ptr<detail::broadcast_state<T>>& from) noexcept
      : state_(from), next_(from->count()) {}
  std::uint64_t find_next(std::shared_ptr<const T>& element) noexcept;

  std::shared_ptr<detail::broadcast_state<T>> state_;
  std::uint64_t next_;  // of the value to receive, counted from 0
};

template <class T>
class [[nodiscard("nothing is received until this is awaited")]] broadcast_subscription<T>::recv_operation
    : public detail::wait_for_more {
 public:
  explicit recv_operation(broadcast_subscription& reader) noexcept
      : wait_for_more(*reader.state_, reader.next_), reader_(&reader) {}
  std::optional<T> await_resume() {
    finish();
    if (const std::uint64_t lost = find(); lost != 0) [[unlikely]]
      detail::throw_lagged(lost);
    std::optional<T> copy;
    if (element_) {
      copy.emplace(*element_);
      ++reader_->next_;
    }
    return copy;
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept {
    const std::uint64_t lost = find();
    return lost != 0 ? detail::lagged_error(lost) : nullptr;
  }
  operator std::optional<T>() const = delete;  // co_await subscription.recv()

 private:
  std::uint64_t find() noexcept { return element_ ? 0 : reader_->find_next(element_); }

  broadcast_subscription* reader_;
  std::shared_ptr<const T> element_;
};

/// Finds the next value; none if the broadcast has ended, or if values were lost: returns how many. Requires:
/// there is a further value, or the broadcast has ended.
template <class T>
std::uint64_t broadcast_subscription<T>::find_next(std::shared_ptr<const T>& element) noexcept {
  CORACLE_CHECK(
      state_,
      "a broadcast_subscription was moved while a coroutine waits for its next value: move it before "
      "that");
  [[maybe_unused]] const bool has_ended = CORACLE_CHECKS() && state_->has_ended();
  std::uint64_t lost = 0;
  state_->read([&](std::uint64_t count) noexcept {
    if (count - next_ > state_->capacity) {
      lost = count - state_->capacity - next_;
    } else if (next_ != count) {
      element = state_->at(next_);
    }
  });
  CORACLE_CHECK(
      element || lost != 0 || has_ended,
      "concurrent recv() of a broadcast_subscription, which has one consumer: give each its own, or a copy");
  next_ += lost;
  return lost;
}
}  // namespace coracle
