// coracle/net/datagram_batch.hpp -- many datagrams in one operation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/net/socket.hpp>
#include <cstddef>
#include <memory>
#include <span>

namespace coracle::net {
/// Datagrams that are received together, or sent together, and the memory for them.
///
///     datagram_batch batch{64, 1500};
///     co_await recv_batch(udp, batch);
///     for (std::size_t i = 0; i != batch.size(); ++i) handle(batch.endpoint(i), batch.bytes(i));
///
/// Prefer send_segments() for many datagrams of one size to one peer.
/// Exceptions  the constructor throws std::bad_alloc.
/// Cost        one allocation, for all.
class datagram_batch {
 public:
  /// For up to `count` datagrams of up to `largest` bytes. Requires: count != 0; more than 1024 are never
  /// passed at once.
  datagram_batch(std::size_t count, std::size_t largest);
  datagram_batch(datagram_batch&&) noexcept;
  datagram_batch& operator=(datagram_batch&&) noexcept;
  ~datagram_batch();

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// The number of datagrams that it holds.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool is_full() const noexcept { return size_ == capacity_; }
  void clear() noexcept { size_ = 0; }

  // Of the datagram `index`. Requires: index < size().

  [[nodiscard]] std::span<const std::byte> bytes(std::size_t index) const noexcept;
  /// Its sender, or its destination.
  [[nodiscard]] ip_endpoint endpoint(std::size_t index) const noexcept;
  /// Returns true if it was longer than `largest`, and its end is lost.
  [[nodiscard]] bool is_cut(std::size_t index) const noexcept;

  /// Appends a copy of a datagram to be sent. Requires: !is_full(), and it is not longer than `largest`.
  void add(const ip_endpoint& destination, const_buffer bytes);
  /// Removes the first `count`. Requires: count <= size().
  void remove_first(std::size_t count) noexcept;

 private:
  friend class recv_batch_operation;
  friend class send_batch_operation;
  struct message;  // what the system needs for one datagram

  void prepare_to_receive() noexcept;
  void has_received(std::size_t count) noexcept;

  std::unique_ptr<std::byte[]> memory_;  // the messages, then their bytes
  std::size_t capacity_, largest_;
  std::size_t size_ = 0;
};

/// Awaiter of the number of datagrams received.
class [[nodiscard("nothing is received until this is awaited")]] recv_batch_operation
    : public coracle::detail::io_operation {
 public:
  recv_batch_operation(socket& receiver, datagram_batch& into, stop_token token) noexcept;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    into_.prepare_to_receive();  // not earlier: the batch may have sent since this was awaited last
    return io_operation::await_suspend(self);
  }
  std::size_t await_resume();

 private:
  datagram_batch& into_;
};
/// Awaiter of the number of datagrams sent.
class [[nodiscard("nothing is sent until this is awaited")]] send_batch_operation
    : public coracle::detail::io_operation {
 public:
  send_batch_operation(socket& sender, datagram_batch& from, stop_token token) noexcept;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    size = from_.size_;  // not earlier: fewer remain when this is awaited again
    return io_operation::await_suspend(self);
  }
  std::size_t await_resume();

 private:
  datagram_batch& from_;
};

/// Awaitable of the number of datagrams received: as many as have arrived and `into` has room for, at least
/// one, or 0 after close_recv(). They replace what `into` held. recvmmsg(2).
///
/// The other fields are those of socket::recv_from(). Requires: a UDP socket; `into` outlives the operation
/// and is not used meanwhile.
[[nodiscard("nothing is received until this is awaited")]] inline recv_batch_operation recv_batch(
    socket& receiver, datagram_batch& into, stop_token token = {}) noexcept {
  return {receiver, into, std::move(token)};
}
/// Awaitable of the number of datagrams sent, at least one: the first of `from`, which no longer holds them.
/// The rest remains for another call, which reports an error if the next one cannot be sent. sendmmsg(2).
///
///     while (batch.size() != 0) co_await send_batch(udp, batch);
///
/// A batch that recv_batch() has filled goes back to the senders, each datagram as long as it came.
///
/// The other fields are those of socket::send_to(). Requires: a UDP socket; `from` is not empty, outlives the
/// operation and is not used meanwhile.
[[nodiscard("nothing is sent until this is awaited")]] inline send_batch_operation send_batch(
    socket& sender, datagram_batch& from, stop_token token = {}) noexcept {
  return {sender, from, std::move(token)};
}
}  // namespace coracle::net
