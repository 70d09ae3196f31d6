// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <coracle/net/unix_socket.hpp>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "../io/io_failure_of.hpp"
#include "../io/io_system.hpp"
#include "../io/owned_fd.hpp"
#include "../io/system_error.hpp"
#include "accept_error.hpp"
#include "adopted_socket.hpp"
#include "whole_transfers.hpp"

namespace coracle::net {
namespace {
using coracle::detail::io_descriptor;
using coracle::detail::io_descriptor_kind;
using coracle::detail::throw_error;

int type_of(unix_kind kind) noexcept {
  switch (kind) {
    case unix_kind::stream:
      return SOCK_STREAM;
    case unix_kind::datagram:
      return SOCK_DGRAM;
    default:
      return SOCK_SEQPACKET;
  }
}
void require_real(io_service& service) {
  CORACLE_REQUIRE(&io_descriptor::system_of(service) == &coracle::detail::io_system::linux_system(),
                  "a unix_socket was made for a simulated io_service, which has none: use net::socket");
}
void require_stream_to_send_all(unix_kind kind) {
  CORACLE_REQUIRE(kind == unix_kind::stream, "send_all() of a Unix socket that sends messages: use send()");
}
}  // namespace

unix_socket unix_socket::create(io_service& service, unix_kind kind) {
  require_real(service);
  const int fd = io_descriptor::system_of(service).open_socket(AF_UNIX, type_of(kind));
  if (fd < 0) throw_error(-fd, "cannot create a Unix socket");
  return {{service, fd, io_descriptor_kind::pollable}, kind};
}
unix_socket unix_socket::adopt(io_service& service, owned_descriptor opened) {
  const auto [family, type] = coracle::detail::prepare_adoption(service, opened);
  if (family != AF_UNIX) throw_error(EAFNOSUPPORT, "cannot adopt a socket that is no Unix socket");
  const unix_kind kind = type == SOCK_STREAM  ? unix_kind::stream
                         : type == SOCK_DGRAM ? unix_kind::datagram
                                              : unix_kind::seqpacket;
  return {{service, std::move(opened).release(), io_descriptor_kind::pollable}, kind};
}

coracle::detail::library_task<> unix_socket::send_all_body(const_buffer bytes, stop_token token,
                                                           std::size_t* sent) {
  require_stream_to_send_all(kind_);
  return detail::send_all(descriptor_, bytes.bytes(), std::move(token), sent);
}
coracle::detail::library_task<> unix_socket::send_parts_body(const_buffers parts, stop_token token,
                                                             std::size_t* sent) {
  require_stream_to_send_all(kind_);
  return detail::send_all(descriptor_, parts, std::move(token), sent);
}
coracle::detail::library_task<std::size_t> unix_socket::recv_exactly_body(mutable_buffer to, stop_token token,
                                                                          std::size_t* received) {
  CORACLE_REQUIRE(kind_ == unix_kind::stream,
                  "recv_exactly() of a Unix socket that receives messages: use recv()");
  return detail::recv_exactly(descriptor_, to.bytes(), std::move(token), received);
}
coracle::detail::library_task<std::size_t> unix_socket::recv_until_body(std::string& received,
                                                                        std::string_view delimiter,
                                                                        std::size_t limit, stop_token token) {
  CORACLE_REQUIRE(kind_ == unix_kind::stream,
                  "recv_until() of a Unix socket that receives messages: use recv()");
  return detail::recv_until(descriptor_, received, delimiter, limit, std::move(token));
}

unix_pair make_unix_pair(io_service& service, unix_kind kind) {
  require_real(service);
  int ends[2];
  if (::socketpair(AF_UNIX, type_of(kind) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    coracle::detail::throw_errno("cannot create a pair of Unix sockets");
  }
  owned_descriptor second{ends[1]};
  io_descriptor first{service, ends[0], io_descriptor_kind::pollable};
  return {{std::move(first), kind},
          {{service, std::move(second).release(), io_descriptor_kind::pollable}, kind}};
}

unix_address unix_socket::local_address() const noexcept {
  unix_address local;
  socklen_t size = unix_address::native_room();
  const bool is_open = ::getsockname(native_handle(), static_cast<sockaddr*>(local.native()), &size) == 0;
  if (is_open) local.set_native_size(size);
  return local;
}

peer_credentials unix_socket::peer() const {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(native_handle(), SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) {
    coracle::detail::throw_errno("cannot tell who a Unix socket is connected to");
  }
  if (found.pid == 0) throw_error(ENOTCONN, "cannot tell who a Unix socket is connected to");
  return {found.pid, found.uid, found.gid};
}

void unix_socket::bind(const unix_address& local) {
  const auto* const name = static_cast<const sockaddr*>(local.native());
  const int result = descriptor_.system().bind(native_handle(), name, local.native_size());
  if (result < 0) throw_error(-result, "cannot bind a Unix socket to " + local.to_string());
}
void unix_socket::listen(unsigned backlog) {
  constexpr unsigned most = std::numeric_limits<int>::max();
  const int result = descriptor_.system().listen(native_handle(), static_cast<int>(std::min(backlog, most)));
  if (result < 0) throw_error(-result, "cannot listen on a Unix socket");
}

void unix_socket::close_send() {
  const int result = descriptor_.system().shut_down(native_handle(), SHUT_WR);
  if (result < 0) throw_error(-result, "cannot close a Unix socket for sending");
}
void unix_socket::close_recv() {
  const int result = descriptor_.system().shut_down(native_handle(), SHUT_RD);
  if (result < 0) throw_error(-result, "cannot close a Unix socket for receiving");
}

int unix_socket::receive_flags() const noexcept { return kind_ == unix_kind::stream ? 0 : MSG_TRUNC; }

void unix_connect_operation::await_resume() {
  const std::int64_t connected = take_result_or_errno();
  if (connected < 0) {
    throw_error(static_cast<int>(-connected), "cannot connect a Unix socket to " + remote_.to_string());
  }
}

unix_accept_operation::unix_accept_operation(unix_socket& listener, io_service* service,
                                             stop_token token) noexcept
    : io_operation(listener.descriptor_, coracle::detail::io_opcode::accept, static_cast<void*>(nullptr), 0,
                   std::move(token)),
      listener_(listener),
      service_(service) {
  if (service && service != listener.descriptor_.service()) require_real(*service);
}
unix_socket unix_accept_operation::await_resume() {
  const int fd = static_cast<int>(take_result(detail::accept_error(result)));
  return {{*service_, fd, io_descriptor_kind::pollable}, listener_.kind_};
}

std::size_t unix_send_message_operation::await_resume() {
  const std::int64_t sent = take_result_or_errno();
  if (sent < 0) {
    const std::string where =
        destination_.is_unnamed() ? "on a Unix socket" : "to " + destination_.to_string();
    throw_error(static_cast<int>(-sent), "cannot send " + where);
  }
  return static_cast<std::size_t>(sent);
}

void unix_recv_message_operation::drop_descriptors() noexcept {
  for (std::size_t i = 0; i != message_.count; ++i) message_.passed[i].close();
}
std::error_code unix_recv_message_operation::await_error() noexcept {
  if (const std::error_code failed = io_operation::await_error()) return failed;
  if (!is_cut()) return {};
  drop_descriptors();
  return {EMSGSIZE, std::system_category()};
}
received_message unix_recv_message_operation::await_resume() {
  const auto received = static_cast<std::size_t>(take_result("cannot receive on a Unix socket"));
  from_.set_native_size(message_.name_size);
  if (!is_cut()) return {received, message_.count, from_};
  drop_descriptors();
  throw_error(EMSGSIZE, received > size ? "cannot receive a message that is longer than the buffer"
                                        : "cannot receive all descriptors that came with a message");
}
}  // namespace coracle::net

namespace coracle::detail {
template std::exception_ptr io_failure_of(net::unix_connect_operation&) noexcept;
template std::exception_ptr io_failure_of(net::unix_accept_operation&) noexcept;
template std::exception_ptr io_failure_of(net::unix_send_message_operation&) noexcept;
template std::exception_ptr io_failure_of(net::unix_recv_message_operation&) noexcept;
}  // namespace coracle::detail
