// src/net/adopted_socket.hpp -- a socket of a descriptor that others have opened.
// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <coracle/io/detail/io_descriptor.hpp>
#include <coracle/io/owned_descriptor.hpp>

#include "../io/io_system.hpp"
#include "../io/system_error.hpp"

namespace coracle::detail {
struct kind_of_socket {
  int family, type;
};

/// Makes `fd` as one that this process has opened for `service`: it does not block, and programs do not
/// inherit it. Throws std::system_error if it is no socket.
inline kind_of_socket prepare_adoption(io_service& service, const owned_descriptor& fd) {
  CORACLE_REQUIRE(&io_descriptor::system_of(service) == &io_system::linux_system(),
                  "a socket was adopted for a simulated io_service, which has no such descriptors: use an "
                  "io_service of the process's own system");
  const auto option = [&](int name) {
    int value = 0;
    socklen_t size = sizeof value;
    if (::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) != 0)
      throw_error(errno, "cannot adopt a socket");
    return value;
  };
  const kind_of_socket its{option(SO_DOMAIN), option(SO_TYPE)};
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0)
    throw_error(errno, "cannot adopt a socket");
  return its;
}
}  // namespace coracle::detail
