// tests/support/system_error_operation.hpp -- an operation, where it takes place, and how it may fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle_test::system_errors {
using coracle::io_service;
using coracle::task;
using coracle::net::socket;

/// Where one attempt takes place.
struct place {
  io_service& io;
  /// A folder with a file `file` that contains "text", a directory `full/below` and a symbolic link `link`.
  std::filesystem::path files;
};
inline socket bound_udp(io_service& io) {
  socket one = socket::create_udpv4(io);
  one.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  return one;
}
inline socket listening(io_service& io) {
  socket one = socket::create_tcpv4(io);
  one.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  one.listen();
  return one;
}
struct connection {
  explicit connection(io_service& io) : near(socket::create_tcpv4(io)), far(socket::create_tcpv4(io)) {
    socket listener = listening(io);
    io.run(coracle::when_all(near.connect(listener.local_endpoint()), listener.accept(far)));
  }
  socket near, far;
};
/// With a datagram "text" in front of `to`.
struct two_udp_sockets {
  explicit two_udp_sockets(io_service& io) : from(bound_udp(io)), to(bound_udp(io)) {
    io.run(from.send_to(to.local_endpoint(), "text", 4));
  }
  socket from, to;
};

using attempt = std::function<task<>()>;
struct operation {
  const char* name;
  std::vector<std::string_view> calls;  ///< that it makes, on either engine
  std::vector<int> errors;              ///< with which it ends
  /// What attempts need. It is not made to fail.
  std::function<attempt(const place&)> prepare;
  std::vector<int> survived = {EINTR};  ///< errors after which the operation goes on, and succeeds
};

// Those of the manual pages that say something about the call, rather than about its arguments, which
// coracle passes; a kernel may return those too, so EBADF, EFAULT, EINVAL and ENOTSOCK are among them.
// EAGAIN means to wait.
inline const std::vector<int> of_receiving{EBADF,  ECONNREFUSED, ECONNRESET, EFAULT,    EINVAL,
                                           ENOMEM, ENOTCONN,     ENOTSOCK,   ETIMEDOUT, EIO};
inline const std::vector<int> of_sending{EACCES,  EALREADY, EBADF, ECONNRESET, EDESTADDRREQ, EFAULT,
                                         EINVAL,  EISCONN,  EIO,   EMSGSIZE,   ENETDOWN,     ENETUNREACH,
                                         ENOBUFS, ENOMEM,   EPIPE, ENOTCONN,   ENOTSOCK,     EOPNOTSUPP};
inline const std::vector<int> of_reading{EBADF, EFAULT, EINVAL, EIO, EISDIR, EOVERFLOW, ENOMEM};
inline const std::vector<int> of_writing{EBADF, EDESTADDRREQ, EDQUOT, EFAULT, EFBIG, EINVAL,
                                         EIO,   ENOSPC,       EPERM,  EPIPE,  EROFS, ENOMEM};
inline const std::vector<int> of_syncing{EBADF, EDQUOT, EINVAL, EIO, ENOSPC, EROFS};
inline const std::vector<int> of_opening{EACCES,  EBADF,        EBUSY,  EDQUOT,     EEXIST,  EFAULT,
                                         EFBIG,   EINVAL,       EISDIR, ELOOP,      EMFILE,  ENODEV,
                                         ENOENT,  ENAMETOOLONG, ENFILE, ENOMEM,     ENOSPC,  ENXIO,
                                         ENOTDIR, EPERM,        EROFS,  EOPNOTSUPP, ETXTBSY, EOVERFLOW};
inline const std::vector<int> of_paths{EACCES, EBADF,   EBUSY,     EDQUOT, EEXIST, EFAULT,      EINVAL,
                                       EIO,    EISDIR,  ELOOP,     EMLINK, ENOENT, ENOMEM,      ENOSPC,
                                       EPERM,  ENOTDIR, ENOTEMPTY, EROFS,  EXDEV,  ENAMETOOLONG};
inline const std::vector<int> of_descriptors{EINVAL, EMFILE, ENFILE, ENOMEM};

template <class Object>
std::shared_ptr<Object> shared(Object object) {
  return std::make_shared<Object>(std::move(object));
}
}  // namespace coracle_test::system_errors
