// coracle/net/datagram_segments.hpp -- one buffer as many datagrams of one size.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <coracle/net/detail/socket_operations.hpp>
#include <coracle/net/socket.hpp>
#include <cstddef>

namespace coracle::net {
/// The number of datagrams that one send_segments() sends at most.
inline constexpr std::size_t most_segments = coracle::detail::most_segments;
/// In bytes: room for whatever one recv_segments() receives.
inline constexpr std::size_t most_received_segments = 65'535;

/// Awaiter of the number of bytes sent.
class [[nodiscard("nothing is sent until this is awaited")]] send_segments_operation
    : public detail::addressed_operation {
 public:
  send_segments_operation(socket& sender, const ip_endpoint* destination, const_buffer from,
                          std::size_t segment_size, stop_token token) noexcept;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    prepare();  // not earlier: from here on, the awaiter is not moved
    return io_operation::await_suspend(self);
  }
  std::size_t await_resume();

 private:
  void prepare() noexcept;
  coracle::detail::io_message message_;
};

/// What recv_segments() received: datagrams of the same sender, one behind the other in the buffer.
struct received_segments {
  std::size_t size;          ///< in bytes, of all
  std::size_t segment_size;  ///< in bytes, of each but the last, which may be shorter; 0 if `size` is
  ip_endpoint from;
};

/// Awaiter of received_segments.
class [[nodiscard("nothing is received until this is awaited")]] recv_segments_operation
    : public detail::addressed_operation {
 public:
  recv_segments_operation(socket& receiver, mutable_buffer to, stop_token token) noexcept;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    prepare();
    return io_operation::await_suspend(self);
  }
  received_segments await_resume();
  [[nodiscard]] std::error_code await_error() noexcept;

 private:
  void prepare() noexcept;
  const socket& receiver_;
  coracle::detail::io_message message_;
};

/// Awaitable of the number of bytes sent, which is all of `bytes`: as datagrams of `segment_size` bytes; the
/// last one may be shorter. One system call passes them to the kernel, which cuts them as late as possible,
/// ideally in the network adapter (UDP_SEGMENT).
///
///     co_await send_segments(udp, client, video, 1200);
///
/// Prefer send_batch() for datagrams of several sizes or destinations.
/// Cancellation  as socket::send_to(): stop requested while it waits for room sends none of them.
/// Exceptions    as socket::send_to(). std::errc::invalid_argument: more than most_segments datagrams;
///               std::errc::message_size: more than 65,507 bytes over IPv4, or 65,527 over IPv6, or datagrams
///               that do not fit into packets of the network interface (invalid_argument on older kernels);
///               std::errc::operation_not_supported: the kernel cannot segment (Linux before 4.18).
/// Requires: a UDP socket; segment_size != 0; `bytes` outlive the operation.
[[nodiscard("nothing is sent until this is awaited")]] inline send_segments_operation send_segments(
    socket& sender, const ip_endpoint& destination, const_buffer bytes, std::size_t segment_size,
    stop_token token = {}) noexcept {
  return {sender, &destination, bytes, segment_size, std::move(token)};
}
/// The same on a connected socket.
[[nodiscard("nothing is sent until this is awaited")]] inline send_segments_operation send_segments(
    socket& sender, const_buffer bytes, std::size_t segment_size, stop_token token = {}) noexcept {
  return {sender, nullptr, bytes, segment_size, std::move(token)};
}

/// Lets the system join datagrams of one sender and one size that arrive one after the other, so that one
/// recv_segments() receives them (UDP_GRO). Other receive operations then cannot tell where one ends.
/// Exceptions  std::system_error; std::errc::operation_not_supported: the kernel cannot (Linux before 5.0).
/// Requires: a UDP socket.
void join_datagrams(socket& receiver);

/// Awaitable of received_segments: one datagram, or several that join_datagrams() lets the system join.
///
///     join_datagrams(udp);
///     std::vector<std::byte> room(most_received_segments);
///     const received_segments got = co_await recv_segments(udp, room);
///     for (std::size_t at = 0; at < got.size; at += got.segment_size)
///       handle(got.from, std::span{room}.subspan(at, std::min(got.segment_size, got.size - at)));
///
/// The other fields are those of socket::recv_from(): what is longer than `to` is dropped, and the error is
/// std::errc::message_size. Requires: a UDP socket; `to` outlives the operation.
[[nodiscard("nothing is received until this is awaited")]] inline recv_segments_operation recv_segments(
    socket& receiver, mutable_buffer to, stop_token token = {}) noexcept {
  return {receiver, to, std::move(token)};
}
}  // namespace coracle::net
