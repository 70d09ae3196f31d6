// SPDX-License-Identifier: MIT
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <coracle/core/environment.hpp>
#include <coracle/net/socket.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "../io/io_failure_of.hpp"
#include "../io/io_system.hpp"
#include "../io/system_call.hpp"
#include "../io/system_error.hpp"
#include "accept_error.hpp"
#include "adopted_socket.hpp"
#include "socket_address.hpp"
#include "whole_transfers.hpp"

namespace coracle::net {
namespace {
using coracle::detail::throw_error;
using coracle::detail::total_size;

ip_endpoint unspecified_like(const ip_endpoint& other) noexcept {
  return other.is_ipv4() ? ip_endpoint{ipv4_endpoint{}} : ip_endpoint{ipv6_endpoint{}};
}

std::error_code error_of(int error) noexcept { return {error, std::system_category()}; }
/// Throws if a datagram did not fit: with MSG_TRUNC, `received` is its full length.
std::size_t require_whole(std::size_t received, std::size_t room) {
  if (received > room) throw_error(EMSGSIZE, "cannot receive a datagram that is longer than the buffer");
  return received;
}
void require_stream_to_send_all(bool is_stream) {
  CORACLE_REQUIRE(is_stream, "send_all() of a UDP socket, which sends one datagram: use send()");
}
}  // namespace

socket socket::create(io_service& service, const ip_endpoint& unspecified, bool is_stream) {
  const int fd = coracle::detail::io_descriptor::system_of(service).open_socket(
      unspecified.is_ipv4() ? AF_INET : AF_INET6, is_stream ? SOCK_STREAM : SOCK_DGRAM);
  if (fd < 0) throw_error(-fd, "cannot create a socket");
  return socket{{service, fd, coracle::detail::io_descriptor_kind::pollable}, unspecified, is_stream};
}
socket socket::create_tcpv4(io_service& service) { return create(service, ipv4_endpoint{}, true); }
socket socket::create_tcpv6(io_service& service) { return create(service, ipv6_endpoint{}, true); }
socket socket::create_udpv4(io_service& service) { return create(service, ipv4_endpoint{}, false); }
socket socket::create_udpv6(io_service& service) { return create(service, ipv6_endpoint{}, false); }
socket socket::adopt(io_service& service, owned_descriptor opened) {
  const auto [family, type] = coracle::detail::prepare_adoption(service, opened);
  if ((family != AF_INET && family != AF_INET6) || (type != SOCK_STREAM && type != SOCK_DGRAM))
    throw_error(EAFNOSUPPORT, "cannot adopt a socket that is neither TCP nor UDP");
  const bool is_stream = type == SOCK_STREAM;
  const int on = 1;
  if (is_stream) ::setsockopt(opened.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ip_endpoint remote = family == AF_INET ? ip_endpoint{ipv4_endpoint{}} : ip_endpoint{ipv6_endpoint{}};
  sockaddr_storage storage;
  socklen_t size = sizeof storage;
  if (::getpeername(opened.get(), reinterpret_cast<sockaddr*>(&storage), &size) == 0)
    remote = coracle::detail::from_sockaddr(storage);
  const int fd = std::move(opened).release();
  return socket{{service, fd, coracle::detail::io_descriptor_kind::pollable}, remote, is_stream};
}

ip_endpoint socket::local_endpoint() const noexcept {
  sockaddr_storage storage;
  if (descriptor_.system().local_address(native_handle(), storage) < 0) return unspecified_like(remote_);
  return coracle::detail::from_sockaddr(storage);
}

void socket::bind(const ip_endpoint& local) {
  coracle::detail::io_system& system = descriptor_.system();
  if (is_stream_) system.reuse_address(native_handle());
  sockaddr_storage storage;
  const socklen_t size = coracle::detail::to_sockaddr(local, storage);
  const int result = system.bind(native_handle(), reinterpret_cast<sockaddr*>(&storage), size);
  if (result < 0) throw_error(-result, "cannot bind a socket to " + local.to_string());
}

void socket::listen(std::uint32_t backlog) {
  constexpr std::uint32_t most = std::numeric_limits<int>::max();
  const int result = descriptor_.system().listen(native_handle(), static_cast<int>(std::min(backlog, most)));
  if (result < 0) throw_error(-result, "cannot listen on a socket");
}
void socket::listen() { listen(SOMAXCONN); }

void socket::close_send() {
  const int result = descriptor_.system().shut_down(native_handle(), SHUT_WR);
  if (result < 0) throw_error(-result, "cannot close a socket for sending");
}
void socket::close_recv() {
  const int result = descriptor_.system().shut_down(native_handle(), SHUT_RD);
  if (result < 0) throw_error(-result, "cannot close a socket for receiving");
}

coracle::detail::library_task<> socket::disconnect_body(stop_token token) {
  if (token == stop_token{}) token = co_await this_task::stop_token();
  if (const stop_reason why = token.reason(); why != stop_reason::none) coracle::detail::throw_cancelled(why);
  if (is_stream_) {
    // ENOTCONN: the connection has already ended, or there was none. Receiving finds out which.
    const int result = descriptor_.system().shut_down(native_handle(), SHUT_WR);
    if (result < 0 && result != -ENOTCONN) throw_error(-result, "cannot disconnect a socket");
    constexpr std::size_t any_number = 1 << 30;
    for (bool more = true; more;) {
      // TCP discards the data: no buffer.
      const std::size_t discarded =
          co_await socket_recv_operation{descriptor_, nullptr, any_number, MSG_TRUNC, token};
      more = discarded != 0;
    }
  } else {
    const int result = descriptor_.system().dissolve(native_handle());
    if (result < 0) throw_error(-result, "cannot disconnect a socket");
  }
  remote_ = unspecified_like(remote_);
}

coracle::detail::library_task<> socket::send_all_body(const_buffer bytes, stop_token token,
                                                      std::size_t* sent) {
  require_stream_to_send_all(is_stream_);
  return detail::send_all(descriptor_, bytes.bytes(), std::move(token), sent);
}
coracle::detail::library_task<> socket::send_parts_body(const_buffers parts, stop_token token,
                                                        std::size_t* sent) {
  require_stream_to_send_all(is_stream_);
  return detail::send_all(descriptor_, parts, std::move(token), sent);
}

coracle::detail::library_task<std::size_t> socket::recv_exactly_body(mutable_buffer to, stop_token token,
                                                                     std::size_t* received) {
  CORACLE_REQUIRE(is_stream_, "recv_exactly() of a UDP socket, which receives one datagram: use recv()");
  return detail::recv_exactly(descriptor_, to.bytes(), std::move(token), received);
}
coracle::detail::library_task<std::size_t> socket::recv_until_body(std::string& received,
                                                                   std::string_view delimiter,
                                                                   std::size_t limit, stop_token token) {
  CORACLE_REQUIRE(is_stream_, "recv_until() of a UDP socket, which receives one datagram: use recv()");
  return detail::recv_until(descriptor_, received, delimiter, limit, std::move(token));
}

socket socket::duplicate() const {
  if (!descriptor_.is_open()) return socket{{}, remote_, is_stream_};
  const int fd = descriptor_.system().duplicate(native_handle());
  if (fd < 0) throw_error(-fd, "cannot duplicate a socket");
  return socket{
      {*descriptor_.service(), fd, coracle::detail::io_descriptor_kind::pollable}, remote_, is_stream_};
}

static_assert(detail::tells_whole_size == MSG_TRUNC);

bool detail::has_room(mutable_buffers pieces) noexcept {
  return std::any_of(pieces.begin(), pieces.end(),
                     [](const mutable_buffer& each) { return each.size() != 0; });
}

socket_connect_operation socket::connect(const ip_endpoint& remote, stop_token token) noexcept {
  return {*this, remote, std::move(token)};
}
socket_accept_new_operation socket::accept(stop_token token) noexcept { return {*this, std::move(token)}; }
socket_accept_on_operation socket::accept_on(io_service& service, stop_token token) noexcept {
  return {*this, service, std::move(token)};
}
socket_accept_operation socket::accept(socket& accepted, stop_token token) noexcept {
  return {*this, accepted, std::move(token)};
}
socket_send_operation socket::send(const_buffers from, stop_token token) noexcept {
  return {descriptor_, from, std::move(token)};
}

void detail::addressed_operation::set_address(const ip_endpoint& endpoint) noexcept {
  static_assert(sizeof storage_ >= sizeof(sockaddr_in6) && sizeof storage_ >= sizeof(sockaddr_in));
  sockaddr_storage storage;
  address_size = coracle::detail::to_sockaddr(endpoint, storage);
  std::memcpy(storage_, &storage, sizeof storage_);
}
ip_endpoint detail::addressed_operation::address_or(const ip_endpoint& otherwise) const noexcept {
  if (address_size == 0) return otherwise;
  sockaddr_storage storage{};
  std::memcpy(&storage, storage_, sizeof storage_);
  return coracle::detail::from_sockaddr(storage);
}

socket_connect_operation::socket_connect_operation(socket& to_connect, const ip_endpoint& remote,
                                                   stop_token token) noexcept
    : addressed_operation(to_connect.descriptor_, detail::io_opcode::connect, static_cast<void*>(nullptr), 0,
                          std::move(token)),
      socket_(to_connect),
      remote_(remote) {
  set_address(remote);
}
void socket_connect_operation::await_resume() {
  const std::int64_t connected = take_result_or_errno();
  if (connected < 0) {
    throw_error(static_cast<int>(-connected), "cannot connect a socket to " + remote_.to_string());
  }
  socket_.remote_ = remote_;
}

socket_accept_new_operation::socket_accept_new_operation(socket& listener, stop_token token) noexcept
    : addressed_operation(listener.descriptor_, detail::io_opcode::accept, static_cast<void*>(nullptr), 0,
                          std::move(token)),
      listener_(listener) {}
socket socket_accept_new_operation::take_accepted(io_service* service) {
  const int fd = static_cast<int>(take_result(detail::accept_error(result)));
  return socket{{*service, fd, coracle::detail::io_descriptor_kind::pollable},
                address_or(unspecified_like(listener_.remote_)),
                true};
}
socket socket_accept_new_operation::await_resume() { return take_accepted(listener_.descriptor_.service()); }

socket socket_accept_on_operation::await_resume() { return take_accepted(&service_); }

void socket_accept_operation::await_resume() {
  io_service* const service = accepted_.descriptor_.service();
  accepted_ = service ? take_accepted(service) : socket_accept_new_operation::await_resume();
}

std::size_t socket_send_operation::await_resume() {
  return static_cast<std::size_t>(take_result("cannot send on a socket"));
}
std::size_t socket_send_to_operation::await_resume() {
  const std::int64_t sent = take_result_or_errno();
  if (sent < 0) {
    throw_error(static_cast<int>(-sent), "cannot send to " + address_or(ip_endpoint{}).to_string());
  }
  return static_cast<std::size_t>(sent);
}

std::size_t socket_recv_operation::room() const noexcept {
  return opcode == detail::io_opcode::receive ? size : total_size(*this);
}
std::error_code socket_recv_operation::await_error() noexcept {
  const std::error_code failed = io_operation::await_error();
  return !failed && static_cast<std::size_t>(result) > room() ? error_of(EMSGSIZE) : failed;
}
std::size_t socket_recv_operation::await_resume() {
  const auto received = static_cast<std::size_t>(take_result("cannot receive on a socket"));
  return require_whole(received, room());
}

socket_recv_from_operation::socket_recv_from_operation(const socket& receiver, void* to, std::size_t bytes,
                                                       int message_flags, stop_token token) noexcept
    : addressed_operation(receiver.descriptor_, detail::io_opcode::receive_from, to, bytes, std::move(token)),
      receiver_(receiver) {
  flags = message_flags;
}
std::error_code socket_recv_from_operation::await_error() noexcept {
  const std::error_code failed = io_operation::await_error();
  return !failed && static_cast<std::size_t>(result) > size ? error_of(EMSGSIZE) : failed;
}
std::tuple<std::size_t, ip_endpoint> socket_recv_from_operation::await_resume() {
  const auto received = static_cast<std::size_t>(take_result("cannot receive on a socket"));
  return {require_whole(received, size), address_or(receiver_.remote_)};
}
}  // namespace coracle::net

namespace coracle::detail {
template std::exception_ptr io_failure_of(net::socket_connect_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_accept_new_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_accept_on_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_accept_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_send_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_send_to_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_recv_operation&) noexcept;
template std::exception_ptr io_failure_of(net::socket_recv_from_operation&) noexcept;
}  // namespace coracle::detail
