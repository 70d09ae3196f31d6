// coracle/channels/unbounded_channel.hpp -- a queue whose senders never wait.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/channel_closed.hpp>
#include <coracle/channels/detail/basic_channel.hpp>
#include <coracle/channels/detail/channel_buffer.hpp>

namespace coracle {
namespace detail {
template <class T>
using growing_channel = basic_channel<T, chunk_buffer<T>>;
}  // namespace detail

/// An unbounded queue for any number of receivers and senders, which need not be coroutines. It grows without
/// limit if the receivers are slower than the senders.
///
///     coracle::unbounded_channel<event> events;
///     events.send(std::move(next));                       // in a callback; never waits
///     while (auto e = co_await events.recv()) handle(*e);
///
/// Prefer channel, which applies backpressure, wherever senders can wait.
/// Order         elements arrive in the order in which they were sent; receivers are served first come, first
///               served.
/// Resumes on    the executor on which the receiver suspended; outside any executor, inside send(), on its
///               thread.
/// Cancellation  a stop request ends the wait of recv(): it has taken nothing.
/// Exceptions    send(): channel_closed, std::bad_alloc; the value is then unchanged. recv():
///               operation_cancelled.
/// Threads       as for channel.
/// Cost          one atomic read-modify-write to send, one to receive; an allocation for each 2 KiB beyond
///               the previous maximum. The destructor frees the memory.
template <class Element>
class unbounded_channel : private detail::growing_channel<detail::channel_element_t<Element>> {
  using T = detail::channel_element_t<Element>;
  using base = detail::growing_channel<T>;
  using buffer_type = detail::chunk_buffer<T>;

  static_assert(
      detail::is_channel_element<Element>,
      "a channel carries objects that are moved and destroyed without throwing, and are aligned to 16 bytes "
      "at most: send a pointer or a std::unique_ptr to this type instead, and std::monostate as a plain "
      "signal");

 public:
  unbounded_channel() noexcept : base(0) {}
  unbounded_channel(const unbounded_channel&) = delete;
  unbounded_channel& operator=(const unbounded_channel&) = delete;
  /// Requires: no coroutine is waiting. Elements that have not been received are destroyed.
  ~unbounded_channel() = default;

  using typename base::recv_operation;
  /// Moves from `value` only if it returns.
  void send(T&& value) {
    if (!try_send(std::move(value))) [[unlikely]]
      detail::throw_channel_closed();
  }
  void send(const T& value)
    requires std::copy_constructible<T>
  {
    send(T(value));
  }
  /// Returns false if the channel is closed; `value` is then unchanged. Throws std::bad_alloc.
  [[nodiscard("false: the value was not sent")]] bool try_send(T&& value) {
    bool refused = false;
    while (!this->send_now(value, refused)) grow();
    return !refused;
  }
  /// recv(): awaitable of std::optional<T>: the next element; empty once the channel is closed and drained.
  using base::recv;
  /// try_recv(): the next element, or empty if there is none now or the channel is closed and drained. Never
  /// waits.
  using base::try_recv;
  /// close(): nothing can be sent from now on. Receivers get the remaining elements, then empty. No effect if
  /// already closed.
  using base::close;
  using base::is_closed;

  using base::begin, base::end;  // which reject a range-for

 private:
  CORACLE_NOINLINE() void grow() {
    auto& more = *new typename buffer_type::chunk;
    this->change_buffer([&more](buffer_type& buffer) { buffer.add(more); });
  }
};
}  // namespace coracle
