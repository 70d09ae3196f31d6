// SPDX-License-Identifier: MIT
#include "message_call.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace coracle::detail {
namespace {
/// SCM_MAX_FD of Linux, which no header defines.
constexpr std::size_t most_passed = 253;

/// A msghdr with one buffer, and the data that it refers to.
struct message {
  explicit message(const io_request& r) noexcept : bytes{r.buffer, r.size} {
    const auto& its = *static_cast<const io_message*>(r.address);
    header.msg_name = its.name;
    header.msg_namelen = its.name_size;
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    if (its.count == 0 && its.segment_size == 0) return;
    header.msg_control = control;
    // The size of the datagrams that were joined is an int, too.
    header.msg_controllen = CMSG_SPACE(std::max<std::size_t>(its.count, 1) * sizeof(int));
  }
  message(const message&) = delete;
  message& operator=(const message&) = delete;

  iovec bytes;
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(most_passed * sizeof(int))];
};

void take_passed(const cmsghdr& from, std::size_t room, io_message& to) noexcept {
  const std::size_t count = (from.cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i != count; ++i) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(&from) + i * sizeof fd, sizeof fd);
    owned_descriptor taken{fd};
    if (to.count == room) {
      to.is_cut = true;
    } else {
      to.passed[to.count++] = std::move(taken);
    }
  }
}
std::size_t segment_size_in(const cmsghdr& of) noexcept {
  int size = 0;
  std::memcpy(&size, CMSG_DATA(&of), sizeof size);
  return static_cast<std::size_t>(size);
}

/// An older kernel would ignore the size, and send one datagram.
bool can_segment(int udp) noexcept {
  int size = 0;
  socklen_t length = sizeof size;
  return ::getsockopt(udp, SOL_UDP, UDP_SEGMENT, &size, &length) == 0;
}
/// Returns 0, or the error.
int add_segment_size(const io_request& r, message& to) noexcept {
  const auto& its = *static_cast<const io_message*>(r.address);
  if (!can_segment(r.record->fd)) return EOPNOTSUPP;
  // Some kernels take more. No segment is longer than 16 bits can tell.
  if (its.segment_size * most_segments < r.size) return EINVAL;
  if (its.segment_size > std::numeric_limits<std::uint16_t>::max()) return EMSGSIZE;
  const auto size = static_cast<std::uint16_t>(its.segment_size);
  std::memset(to.control, 0, to.header.msg_controllen);
  cmsghdr* const added = CMSG_FIRSTHDR(&to.header);
  added->cmsg_level = SOL_UDP;
  added->cmsg_type = UDP_SEGMENT;
  added->cmsg_len = CMSG_LEN(sizeof size);
  std::memcpy(CMSG_DATA(added), &size, sizeof size);
  return 0;
}
}  // namespace

std::int64_t send_message(io_request& request) noexcept {
  const auto& its = *static_cast<const io_message*>(request.address);
  if (its.count > most_passed) {
    errno = EINVAL;
    return -1;
  }
  message sent{request};
  if (its.count != 0) {
    const std::size_t size = its.count * sizeof(int);
    std::memset(sent.control, 0, sent.header.msg_controllen);
    cmsghdr* const passed = CMSG_FIRSTHDR(&sent.header);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(passed), its.to_pass, size);
  } else if (its.segment_size != 0) {
    if (const int error = add_segment_size(request, sent); error != 0) {
      errno = error;
      return -1;
    }
  }
  return ::sendmsg(request.record->fd, &sent.header, request.flags | MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::int64_t receive_message(io_request& request) noexcept {
  auto& its = *static_cast<io_message*>(request.address);
  const std::size_t room = its.count;
  if (room > most_passed) {
    errno = EINVAL;
    return -1;
  }
  message received{request};
  const ssize_t size =
      ::recvmsg(request.record->fd, &received.header, request.flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return size;
  its.name_size = received.header.msg_namelen;
  its.count = 0;
  its.segment_size = 0;
  its.is_cut = (received.header.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* each = CMSG_FIRSTHDR(&received.header); each; each = CMSG_NXTHDR(&received.header, each)) {
    if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) take_passed(*each, room, its);
    if (each->cmsg_level == SOL_UDP && each->cmsg_type == UDP_GRO) its.segment_size = segment_size_in(*each);
  }
  return size;
}
}  // namespace coracle::detail
