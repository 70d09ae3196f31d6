// coracle/channels/channel.hpp -- a bounded queue between coroutines, with backpressure.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/channel_closed.hpp>
#include <coracle/channels/detail/basic_channel.hpp>
#include <coracle/channels/detail/channel_buffer.hpp>
#include <coracle/channels/detail/paired_ring.hpp>

namespace coracle {
namespace detail {
/// The interface of channel and spsc_channel. The elements are stored in a `Buffer`.
template <class Element, class Buffer>
class bounded_channel : private basic_channel<channel_element_t<Element>, Buffer> {
  using T = channel_element_t<Element>;
  using base = basic_channel<T, Buffer>;

  static_assert(
      is_channel_element<Element>,
      "a channel carries objects that are moved and destroyed without throwing, and are aligned to 16 bytes "
      "at most: send a pointer or a std::unique_ptr to this type instead, and std::monostate as a plain "
      "signal");

 public:
  explicit bounded_channel(std::size_t capacity) : base(capacity) {}
  /// Requires: no coroutine is waiting. Destroys elements that have not been received.
  ~bounded_channel() = default;

  using typename base::recv_operation;
  using typename base::send_copy_operation;
  using typename base::send_operation;
  /// Awaitable of nothing. Refers to `value` until the send has ended, and moves from it only when the send
  /// takes effect: a rejected or cancelled send leaves it unchanged. So await it in the expression that
  /// creates it, or keep `value` alive.
  send_operation send(T&& value) noexcept
    requires(!(std::is_trivially_copyable_v<T> && std::copy_constructible<T>))
  {
    return send_operation{*this, value};
  }
  /// The same with a copy, made here. The operation moves from its copy when the send takes effect: to send
  /// `value` again, call send() again.
  send_copy_operation send(const T& value)
    requires std::copy_constructible<T>
  {
    return send_copy_operation{*this, value};
  }
  /// recv(): awaitable of std::optional<T>: the next element; empty once the channel is closed and drained.
  using base::recv;

  /// Sends if there is room. Returns false if the channel is full or closed; `value` is then unchanged. Never
  /// waits.
  [[nodiscard("false: the value was not sent")]] bool try_send(T&& value) noexcept {
    bool refused = false;
    return this->send_now(value, refused) && !refused;
  }
  [[nodiscard("false: the value was not sent")]] bool try_send(const T& value)
    requires std::copy_constructible<T>
  {
    return try_send(T(value));
  }
  /// try_recv(): the next element, or empty if there is none now or the channel is closed and drained. Never
  /// waits.
  using base::try_recv;
  /// close(): from now on senders, including waiting ones, get channel_closed. Receivers get the remaining
  /// elements, then empty. No effect if already closed.
  using base::close;
  using base::is_closed;
  [[nodiscard]] std::size_t capacity() const noexcept { return this->buffer().capacity(); }

  using base::begin, base::end;  // which reject a range-for
};
}  // namespace detail

/// A bounded queue with backpressure, for any number of senders and receivers. When it holds `capacity`
/// elements, senders wait. With capacity 0 it is a rendezvous: each side waits for the other.
///
///     coracle::channel<job> jobs{16};
///     co_await jobs.send(std::move(next));            // waits while the channel is full
///     while (auto j = co_await jobs.recv()) run(*j);  // until it is closed and drained
///
/// With g++ 12, construct a braced aggregate in a variable and move that: the compiler destroys the temporary
/// of co_await send({key, text}) twice. Prefer spsc_channel for one sender and one receiver;
/// unbounded_channel if the sender is not a coroutine or must not wait.
/// Order         elements arrive in the order in which their sends were carried out. Waiters are served first
///               come, first served; not even try_* overtakes them.
/// Resumes on    the executor on which the waiter suspended; outside any executor, inside the call that
///               serves it, on its thread.
/// Cancellation  a stop request ends the wait: a cancelled recv() has taken nothing; a cancelled send() has
///               sent nothing and leaves its value unchanged. As branches of a when_any() they take effect
///               only if they win.
/// Exceptions    send(): channel_closed. Both awaits: operation_cancelled. The constructor: std::bad_alloc.
/// Threads       all members are thread-safe. The channel outlives its waiters; the last one to be woken may
///               destroy it. T's move constructor and destructor run under the channel's lock and must not
///               use the channel.
/// Cost          one allocation, by the constructor; one atomic read-modify-write to send, one to receive.
template <class T>
class channel : public detail::bounded_channel<T, detail::ring_buffer<detail::channel_element_t<T>>> {
 public:
  explicit channel(std::size_t capacity)
      : detail::bounded_channel<T, detail::ring_buffer<detail::channel_element_t<T>>>(capacity) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
};

/// A channel for one sender and one receiver, each of which owns an end.
///
///     coracle::spsc_channel<sample> samples{1024};
///
/// Prefer channel for several senders or receivers, and for small capacities, where one side waits most of
/// the time.
/// Order         as channel, and so are resumption, cancellation and exceptions.
/// Threads       one send() or try_send() at a time: each begins after the last one has returned or, if
///               awaited, has ended. The same holds for recv() and try_recv(). A checked build that detects
///               two at one end ends the program with a message. All other members are thread-safe. The
///               receiver of an element may destroy the channel.
/// Cost          one allocation, by the constructor; no atomic read-modify-write while neither side has to
///               wait. The first wait after some time without one makes the kernel run a fence on all threads
///               of the process, 100 ns to a few us; until that cost is amortised, each operation takes a
///               lock, as with channel. Where the other end is on another executor, an await spins for up to
///               128 pause instructions before it suspends, unless that has failed recently.
template <class T>
class spsc_channel : public detail::bounded_channel<T, detail::paired_ring<detail::channel_element_t<T>>> {
 public:
  explicit spsc_channel(std::size_t capacity)
      : detail::bounded_channel<T, detail::paired_ring<detail::channel_element_t<T>>>(capacity) {}
  spsc_channel(const spsc_channel&) = delete;
  spsc_channel& operator=(const spsc_channel&) = delete;
};

/// An alias that documents the use: many senders, one receiver.
template <class T>
using mpsc_channel = channel<T>;
}  // namespace coracle
