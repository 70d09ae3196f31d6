// coracle/net/detail/unix_operations.hpp -- the awaitables returned by the members of a unix_socket.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/net/unix_address.hpp>
#include <cstddef>
#include <span>

namespace coracle::net {
class unix_socket;

class [[nodiscard("nothing is connected until this is awaited")]] unix_connect_operation
    : public coracle::detail::io_operation {
 public:
  unix_connect_operation(const coracle::detail::io_descriptor& descriptor, const unix_address& remote,
                         stop_token token) noexcept
      : io_operation(descriptor, coracle::detail::io_opcode::connect, static_cast<void*>(nullptr), 0,
                     std::move(token)),
        remote_(remote) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    address = remote_.native();  // only now: from here on this is not moved
    address_size = remote_.native_size();
    return io_operation::await_suspend(self);
  }
  void await_resume();

 private:
  unix_address remote_;
};

/// Gives the new socket.
class [[nodiscard("nothing is accepted until this is awaited")]] unix_accept_operation
    : public coracle::detail::io_operation {
 public:
  /// The new socket is on `service`.
  unix_accept_operation(unix_socket& listener, io_service* service, stop_token token) noexcept;
  unix_socket await_resume();

 private:
  unix_socket& listener_;
  io_service* service_;
};

/// Gives the number of bytes that were sent.
class [[nodiscard("nothing is sent until this is awaited")]] unix_send_message_operation
    : public coracle::detail::io_operation {
 public:
  unix_send_message_operation(const coracle::detail::io_descriptor& descriptor,
                              const unix_address& destination, const_buffer bytes,
                              std::span<const int> descriptors, stop_token token) noexcept
      : io_operation(descriptor, coracle::detail::io_opcode::send_message, bytes.data(), bytes.size(),
                     std::move(token)),
        destination_(destination) {
    message_.to_pass = descriptors.data();
    message_.count = descriptors.size();
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    address = &message_;
    if (!destination_.is_unnamed()) {
      message_.name = destination_.native();
      message_.name_size = destination_.native_size();
    }
    return io_operation::await_suspend(self);
  }
  std::size_t await_resume();

 private:
  coracle::detail::io_message message_;
  unix_address destination_;
};

/// What recv_message() gives.
struct received_message {
  std::size_t size;         ///< in bytes
  std::size_t descriptors;  ///< how many came with it
  unix_address from;        ///< of a datagram; unnamed if its sender is not bound
};
class [[nodiscard("nothing is received until this is awaited")]] unix_recv_message_operation
    : public coracle::detail::io_operation {
 public:
  unix_recv_message_operation(const coracle::detail::io_descriptor& descriptor, mutable_buffer to,
                              std::span<owned_descriptor> passed, int message_flags,
                              stop_token token) noexcept
      : io_operation(descriptor, coracle::detail::io_opcode::receive_message, to.data(), to.size(),
                     std::move(token)),
        room_(passed.size()) {
    message_.passed = passed.data();
    flags = message_flags;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    address = &message_;
    message_.count = room_;  // not earlier: the result of the last await is here
    message_.name = from_.native();
    message_.name_size = unix_address::native_room();
    return io_operation::await_suspend(self);
  }
  received_message await_resume();
  [[nodiscard]] std::error_code await_error() noexcept;

 private:
  [[nodiscard]] bool is_cut() const noexcept {
    return static_cast<std::size_t>(result) > size || message_.is_cut;
  }
  void drop_descriptors() noexcept;
  std::size_t room_;  // for descriptors
  coracle::detail::io_message message_;
  unix_address from_;
};
}  // namespace coracle::net
