// coracle/net/detail/socket_operations.hpp -- the awaitables returned by the members of a socket.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace coracle::net {
class socket;

namespace detail {
using coracle::detail::io_descriptor;
using coracle::detail::io_opcode;

class send_file_operation;

/// MSG_TRUNC, without its header: a datagram that is cut is told by its length.
inline constexpr int tells_whole_size = 0x20;

template <class T>
concept not_an_endpoint = !std::is_convertible_v<const T&, ip_endpoint>;

/// For an operation that is given a duration in place of a stop token.
template <class Rep>
void no_time_limit() {
  static_assert(
      !sizeof(Rep*),
      "an operation takes no time limit: write co_await timeout(client.recv(room), 5s), and include "
      "coracle/time/timeout.hpp");
}

inline constexpr const char* receives_nothing =
    "recv() into 0 bytes, whose result would look like the end of the stream: pass a buffer that has room";
[[nodiscard]] bool has_room(mutable_buffers pieces) noexcept;

/// An operation that passes an address to the kernel, or gets one from it.
class addressed_operation : public coracle::detail::io_operation {
 public:
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    address = storage_;  // not earlier: from here on, the awaiter is not moved
    return io_operation::await_suspend(self);
  }

 protected:
  /// For an operation that gets an address.
  template <class Data>
  addressed_operation(const io_descriptor& descriptor, io_opcode code, Data* data, std::size_t bytes,
                      stop_token token) noexcept
      : io_operation(descriptor, code, data, bytes, std::move(token)) {
    address_size = sizeof storage_;
  }
  /// For an operation that passes an address.
  void set_address(const ip_endpoint& endpoint) noexcept;
  /// Where the address is.
  [[nodiscard]] void* storage() noexcept { return storage_; }
  /// Returns the address that the kernel has stored, or `otherwise` if it has stored none.
  [[nodiscard]] ip_endpoint address_or(const ip_endpoint& otherwise) const noexcept;

 private:
  alignas(4) unsigned char storage_[28];  // the larger of sockaddr_in and sockaddr_in6
};
}  // namespace detail

class [[nodiscard("nothing is connected until this is awaited")]] socket_connect_operation
    : public detail::addressed_operation {
 public:
  socket_connect_operation(socket& to_connect, const ip_endpoint& remote, stop_token token) noexcept;
  void await_resume();

 private:
  socket& socket_;
  ip_endpoint remote_;
};

/// Awaiter of the new socket.
class [[nodiscard("nothing is accepted until this is awaited")]] socket_accept_new_operation
    : public detail::addressed_operation {
 public:
  socket_accept_new_operation(socket& listener, stop_token token) noexcept;
  socket await_resume();

 protected:
  socket take_accepted(io_service* service);

 private:
  socket& listener_;
};
/// Awaiter of the new socket, on another io_service.
class [[nodiscard("nothing is accepted until this is awaited")]] socket_accept_on_operation
    : public socket_accept_new_operation {
 public:
  socket_accept_on_operation(socket& listener, io_service& service, stop_token token) noexcept
      : socket_accept_new_operation(listener, std::move(token)), service_(service) {}
  socket await_resume();

 private:
  io_service& service_;
};
/// Replaces a given socket with the new one.
class [[nodiscard("nothing is accepted until this is awaited")]] socket_accept_operation
    : public socket_accept_new_operation {
 public:
  socket_accept_operation(socket& listener, socket& accepted, stop_token token) noexcept
      : socket_accept_new_operation(listener, std::move(token)), accepted_(accepted) {}
  void await_resume();

 private:
  socket& accepted_;
};

class [[nodiscard("nothing is sent until this is awaited")]] socket_send_operation
    : public coracle::detail::io_operation {
 public:
  socket_send_operation(const detail::io_descriptor& descriptor, const void* from, std::size_t bytes,
                        stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::send, from, bytes, std::move(token)) {}
  socket_send_operation(const detail::io_descriptor& descriptor, const_buffers from,
                        stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::send_parts, from.data(), from.size(), std::move(token)) {}
  std::size_t await_resume();
};

class [[nodiscard("nothing is sent until this is awaited")]] socket_send_to_operation
    : public detail::addressed_operation {
 public:
  socket_send_to_operation(const detail::io_descriptor& descriptor, const ip_endpoint& destination,
                           const void* from, std::size_t bytes, stop_token token) noexcept
      : addressed_operation(descriptor, detail::io_opcode::send_to, from, bytes, std::move(token)) {
    set_address(destination);
  }
  std::size_t await_resume();
};

class [[nodiscard("nothing is received until this is awaited")]] socket_recv_operation
    : public coracle::detail::io_operation {
 public:
  socket_recv_operation(const detail::io_descriptor& descriptor, void* to, std::size_t bytes,
                        int message_flags, stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::receive, to, bytes, std::move(token)) {
    flags = message_flags;
  }
  socket_recv_operation(const detail::io_descriptor& descriptor, mutable_buffers to, int message_flags,
                        stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::receive_parts, to.data(), to.size(), std::move(token)) {
    flags = message_flags;
  }
  std::size_t await_resume();
  [[nodiscard]] std::error_code await_error() noexcept;

 private:
  [[nodiscard]] std::size_t room() const noexcept;
};

class [[nodiscard("nothing is received until this is awaited")]] socket_recv_from_operation
    : public detail::addressed_operation {
 public:
  socket_recv_from_operation(const socket& receiver, void* to, std::size_t bytes, int message_flags,
                             stop_token token) noexcept;
  std::tuple<std::size_t, ip_endpoint> await_resume();
  [[nodiscard]] std::error_code await_error() noexcept;

 private:
  const socket& receiver_;
};
}  // namespace coracle::net
