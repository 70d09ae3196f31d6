// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <coracle/base/check.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <limits>
#include <utility>

#include "../io/io_failure_of.hpp"
#include "../io/io_system.hpp"
#include "../io/system_error.hpp"

namespace coracle::net {
using coracle::detail::io_opcode;
using coracle::detail::throw_error;

send_segments_operation::send_segments_operation(socket& sender, const ip_endpoint* destination,
                                                 const_buffer from, std::size_t segment_size,
                                                 stop_token token) noexcept
    : addressed_operation(sender.descriptor_, io_opcode::send_message, from.data(), from.size(),
                          std::move(token)) {
  CORACLE_REQUIRE(segment_size != 0, "send_segments() cannot cut bytes into datagrams of size 0");
  address_size = 0;
  if (destination) set_address(*destination);
  // One datagram needs no segmentation, and may be longer than a packet.
  if (segment_size < from.size()) message_.segment_size = segment_size;
}
void send_segments_operation::prepare() noexcept {
  message_.name = address_size != 0 ? storage() : nullptr;
  message_.name_size = address_size;
  address = &message_;
}

std::size_t send_segments_operation::await_resume() {
  return static_cast<std::size_t>(take_result("cannot send on a socket"));
}

recv_segments_operation::recv_segments_operation(socket& receiver, mutable_buffer to,
                                                 stop_token token) noexcept
    : addressed_operation(receiver.descriptor_, io_opcode::receive_message, to.data(), to.size(),
                          std::move(token)),
      receiver_(receiver) {
  flags = MSG_TRUNC;
}
void recv_segments_operation::prepare() noexcept {
  message_.segment_size = 1;  // to be found out
  message_.name = storage();
  message_.name_size = address_size;
  address = &message_;
}
std::error_code recv_segments_operation::await_error() noexcept {
  const std::error_code failed = io_operation::await_error();
  const bool is_cut = !failed && static_cast<std::size_t>(result) > size;
  return is_cut ? std::error_code(EMSGSIZE, std::system_category()) : failed;
}
received_segments recv_segments_operation::await_resume() {
  const auto received = static_cast<std::size_t>(take_result("cannot receive on a socket"));
  if (received > size) throw_error(EMSGSIZE, "cannot receive datagrams that are longer than the buffer");
  address_size = message_.name_size;
  const std::size_t segment_size = message_.segment_size != 0 ? message_.segment_size : received;
  return {received, segment_size, address_or(receiver_.remote_endpoint())};
}

void join_datagrams(socket& receiver) {
  const int result = receiver.descriptor_.system().join_datagrams(receiver.native_handle());
  if (result < 0) throw_error(-result, "cannot let the system join datagrams");
}
}  // namespace coracle::net

namespace coracle::detail {
template std::exception_ptr io_failure_of(net::recv_segments_operation&) noexcept;
template std::exception_ptr io_failure_of(net::send_segments_operation&) noexcept;
}  // namespace coracle::detail
