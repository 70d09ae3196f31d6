// SPDX-License-Identifier: MIT
#include "message_call.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

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
    if (its.count == 0) return;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(its.count * sizeof(int));
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
  its.is_cut = (received.header.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* each = CMSG_FIRSTHDR(&received.header); each; each = CMSG_NXTHDR(&received.header, each)) {
    if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) take_passed(*each, room, its);
  }
  return size;
}
}  // namespace coracle::detail
