// SPDX-License-Identifier: MIT
#pragma once
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "io_backend.hpp"

namespace coracle::detail {
/// Tells when a receive would find nothing, which saves a request and response protocol one system call in
/// two: a short read has emptied the buffer of a TCP socket, and edge-triggered epoll reports whatever
/// arrives after it, see epoll(7). Belongs to the lock of its direction, held during each system call, so an
/// event for what arrives between the call and completed() is delivered after completed().
///
/// Not every short read has emptied the buffer: it also stops before urgent data, at the end of one datagram,
/// and on a Unix socket behind bytes that came with descriptors; and nothing follows the event that reports
/// the end of the stream or an error. Such a descriptor is never considered drained.
class drained_stream {
 public:
  /// The events after which a short read does not mean that there is nothing left.
  static constexpr std::uint32_t ends_streams = EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR;

  /// For another descriptor, of which nothing is known.
  void reset() noexcept { *this = {}; }
  /// Records what the system has reported.
  void reported(std::uint32_t events) noexcept {
    is_drained_ = false;
    if (events & ends_streams) trust_ = trust::no;
    if (events & EPOLLRDHUP) is_shut_down_ = true;
  }
  /// Returns true if the system has reported that nothing more will arrive.
  [[nodiscard]] bool is_shut_down() const noexcept { return is_shut_down_; }
  /// Returns true if a system call for `request` would find nothing. Of other requests it knows nothing.
  [[nodiscard]] bool is_drained_for(const io_request& request) const noexcept {
    return is_plain_receive(request) && is_drained_;
  }
  /// Records that `request` has completed without waiting.
  void completed(const io_request& request) noexcept {
    if (!is_plain_receive(request)) return;
    const bool is_short = request.result > 0 && static_cast<std::size_t>(request.result) < request.size;
    is_drained_ = is_short && is_trusted(request.record->fd);
  }

 private:
  enum class trust : unsigned char { unknown, yes, no };

  static bool is_plain_receive(const io_request& request) noexcept {
    return request.opcode == io_opcode::receive && request.flags == 0;
  }
  bool is_trusted(int fd) noexcept {
    if (trust_ == trust::unknown) {
      int protocol = 0;
      socklen_t size = sizeof protocol;
      const bool is_tcp =
          ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
      trust_ = is_tcp ? trust::yes : trust::no;
    }
    return trust_ == trust::yes;
  }

  bool is_drained_ = false;
  bool is_shut_down_ = false;
  trust trust_ = trust::unknown;
};
}  // namespace coracle::detail
