// tests/support/system_error_table.hpp -- every operation, the errors with which its system call may fail,
// and what it needs to be attempted. For tests that make these calls fail, on Linux and on a simulated host.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/file_lock.hpp>
#include <coracle/io/file_watcher.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/send_file.hpp>
#include <coracle/net/socket.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "expect.hpp"

namespace coracle_test::system_errors {
namespace fs = coracle::filesystem;
using coracle::file_buffering_mode;
using coracle::file_open_mode;
using coracle::io_service;
using coracle::task;
using coracle::net::socket;

// ---- where the operations take place -------------------------------------------------------------------

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

// ---- the table -----------------------------------------------------------------------------------------

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

inline std::vector<operation> socket_operations() {
  return {
      {"recv",
       {"recv", "ring RECV"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         p.io.run(both->far.send("x", 1));
         return [both]() -> task<> {
           char byte = 0;
           const std::size_t got = co_await both->near.recv(&byte, 1);
           expect(got == 1 && byte == 'x', "recv() gets the byte");
         };
       }},
      {"recv into pieces",
       {"recvmsg"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         p.io.run(both->far.send("xy", 2));
         return [both]() -> task<> {
           char first = 0, second = 0;
           const coracle::mutable_buffer room[] = {{&first, 1}, {&second, 1}};
           const std::size_t got = co_await both->near.recv(room);
           expect(got == 2 && first == 'x' && second == 'y', "recv() fills the pieces");
         };
       }},
      {"send",
       {"send", "ring SEND"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           const std::size_t sent = co_await both->near.send("x", 1);
           expect(sent == 1, "send() sends the byte");
         };
       }},
      {"send of pieces",
       {"sendmsg"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           const coracle::const_buffer pieces[] = {{"x", 1}, {"y", 1}};
           const std::size_t sent = co_await both->near.send(pieces);
           expect(sent == 2, "send() sends the pieces");
         };
       }},
      {"send_file",
       {"sendfile"},
       {EBADF, EFAULT, EINVAL, EIO, ENOMEM, EOVERFLOW, ESPIPE, EPIPE, ECONNRESET},
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         const auto file = shared(coracle::read_only_file::open(p.io, p.files / "file"));
         return [both, file]() -> task<> {
           const std::uint64_t sent = co_await coracle::net::send_file(both->near, *file, 0, 4);
           expect(sent == 4, "send_file() sends the file");
         };
       }},
      {"accept",
       {"accept4", "ring ACCEPT"},
       {EBADF, EFAULT, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOTSOCK, EOPNOTSUPP, EPERM, ENETDOWN,
        EHOSTDOWN},
       [](const place& p) -> attempt {
         const auto listener = shared(listening(p.io));
         const auto client = shared(socket::create_tcpv4(p.io));
         p.io.run(client->connect(listener->local_endpoint()));
         return [listener, client]() -> task<> {
           const socket accepted = co_await listener->accept();
           expect(accepted.remote_endpoint() == client->local_endpoint(), "accept() gets the connection");
         };
       },
       {EINTR, ECONNABORTED, EPROTO}},
      {"connect",
       {"connect"},
       // Not EINTR and EALREADY: the attempt is in progress then.
       {EACCES, EPERM, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EBADF, ECONNREFUSED, EFAULT, EISCONN,
        ENETUNREACH, ENOTSOCK, EPROTOTYPE, ETIMEDOUT},
       [](const place& p) -> attempt {
         const auto listener = shared(listening(p.io));
         const auto client = shared(socket::create_tcpv4(p.io));
         return [listener, client]() -> task<> { co_await client->connect(listener->local_endpoint()); };
       },
       {}},
      {"recv_from",
       {"recvfrom"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           char text[4];
           const auto got = co_await both->to.recv_from(text, sizeof text);
           expect(std::get<0>(got) == 4, "recv_from() gets the datagram");
         };
       }},
      {"send_to",
       {"sendto"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           const std::size_t sent = co_await both->from.send_to(both->to.local_endpoint(), "x", 1);
           expect(sent == 1, "send_to() sends the datagram");
         };
       }},
      {"recv_batch",
       {"recvmmsg"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           coracle::net::datagram_batch batch{2, 16};
           const std::size_t got = co_await coracle::net::recv_batch(both->to, batch);
           expect(got == 1 && batch.bytes(0).size() == 4, "recv_batch() gets the datagram");
         };
       }},
      {"send_batch",
       {"sendmmsg"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           coracle::net::datagram_batch batch{2, 16};
           batch.add(both->to.local_endpoint(), std::as_bytes(std::span{"text", 4}));
           const std::size_t sent = co_await coracle::net::send_batch(both->from, batch);
           expect(sent == 1, "send_batch() sends the datagram");
         };
       }},
      {"recv_segments",
       {"recvmsg"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           std::byte text[4];
           const auto got = co_await coracle::net::recv_segments(both->to, text);
           expect(got.size == 4 && got.segment_size == 4, "recv_segments() gets the datagram");
         };
       }},
      {"send_segments",
       {"sendmsg"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           const auto bytes = std::as_bytes(std::span{"text", 4});
           const std::size_t sent =
               co_await coracle::net::send_segments(both->from, both->to.local_endpoint(), bytes, 2);
           expect(sent == 4, "send_segments() sends the datagrams");
         };
       }},
  };
}

inline std::vector<operation> file_operations() {
  const auto reading = [](const place& p) {
    return shared(coracle::read_only_file::open(p.io, p.files / "file"));
  };
  const auto writing = [](const place& p, file_buffering_mode mode = {}) {
    return shared(coracle::read_write_file::open(p.io, p.files / "file", file_open_mode::open_existing,
                                                 coracle::file_share_mode::none, mode));
  };
  const auto writes = [writing](file_buffering_mode mode) {
    return [writing, mode](const place& p) -> attempt {
      const auto file = writing(p, mode);
      return [file]() -> task<> {
        const std::size_t written = co_await file->write(4, "more", 4);
        expect(written == 4 && file->size() == 8, "write() writes the bytes");
      };
    };
  };
  const auto writes_pieces = [writing](file_buffering_mode mode) {
    return [writing, mode](const place& p) -> attempt {
      const auto file = writing(p, mode);
      return [file]() -> task<> {
        const coracle::const_buffer pieces[] = {{"mo", 2}, {"re", 2}};
        const std::size_t written = co_await file->write(4, pieces);
        expect(written == 4 && file->size() == 8, "write() writes the pieces");
      };
    };
  };
  return {
      {"read",
       {"pread", "ring READ"},
       of_reading,
       [reading](const place& p) -> attempt {
         const auto file = reading(p);
         return [file]() -> task<> {
           char text[4];
           const std::size_t got = co_await file->read(0, text, sizeof text);
           expect(got == 4 && text[0] == 't', "read() reads the bytes");
         };
       }},
      {"read into pieces",
       {"preadv", "ring READV"},
       of_reading,
       [reading](const place& p) -> attempt {
         const auto file = reading(p);
         return [file]() -> task<> {
           char first[2], second[2];
           const coracle::mutable_buffer room[] = {{first, 2}, {second, 2}};
           const std::size_t got = co_await file->read(0, room);
           expect(got == 4 && second[1] == 't', "read() fills the pieces");
         };
       }},
      {"write", {"pwrite"}, of_writing, writes(file_buffering_mode::default_)},
      {"write through", {"pwrite", "ring WRITE"}, of_writing, writes(file_buffering_mode::write_through)},
      {"write of pieces", {"pwritev"}, of_writing, writes_pieces(file_buffering_mode::default_)},
      {"write through, of pieces",
       {"pwritev", "ring WRITEV"},
       of_writing,
       writes_pieces(file_buffering_mode::write_through)},
      {"sync",
       {"fsync", "ring FSYNC"},
       of_syncing,
       [writing](const place& p) -> attempt {
         const auto file = writing(p);
         return [file]() -> task<> { co_await file->sync(); };
       }},
      {"read of a pipe",
       {"read"},
       of_reading,
       [](const place& p) -> attempt {
         const auto ends = shared(coracle::make_pipe(p.io));
         p.io.run(ends->write_end.write_some("x", 1));
         return [ends]() -> task<> {
           char byte = 0;
           const std::size_t got = co_await ends->read_end.read_some(&byte, 1);
           expect(got == 1 && byte == 'x', "read_some() gets the byte");
         };
       }},
      {"write to a pipe",
       {"write"},
       of_writing,
       [](const place& p) -> attempt {
         const auto ends = shared(coracle::make_pipe(p.io));
         return [ends]() -> task<> {
           const std::size_t written = co_await ends->write_end.write_some("x", 1);
           expect(written == 1, "write_some() writes the byte");
         };
       }},
  };
}

inline std::vector<operation> path_operations() {
  // Each is awaited with paths that are there.
  const auto on_paths = [](auto work) {
    return [work](const place& p) -> attempt { return [&p, work]() -> task<> { return work(p); }; };
  };
  return {
      {"open", {"openat", "ring OPENAT"}, of_opening, on_paths([](const place& p) -> task<> {
         const auto file = co_await fs::open_read_only(p.io, p.files / "file");
         expect(file.size() == 4, "the file is open");
       })},
      {"status",
       {"statx", "ring STATX"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       on_paths([](const place& p) -> task<> {
         const auto found = co_await fs::status(p.io, p.files / "file");
         expect(found.size == 4, "the status is that of the file");
       })},
      {"exists",
       {"statx", "ring STATX"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOMEM},
       on_paths([](const place& p) -> task<> {
         const bool found = co_await fs::exists(p.io, p.files / "file");
         expect(found, "the file exists");
       })},
      {"rename", {"renameat2", "ring RENAMEAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::rename(p.io, p.files / "file", p.files / "other");
       })},
      {"hard link", {"linkat", "ring LINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::create_hard_link(p.io, p.files / "file", p.files / "other");
       })},
      {"symbolic link", {"symlinkat", "ring SYMLINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::create_symlink(p.io, "file", p.files / "other");
       })},
      {"create a directory", {"mkdirat", "ring MKDIRAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::create_directory(p.io, p.files / "other");
       })},
      {"remove", {"unlinkat", "ring UNLINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::remove(p.io, p.files / "file");
       })},
      {"remove a directory", {"unlinkat", "ring UNLINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::remove_directory(p.io, p.files / "full/below");
       })},
      {"read a symbolic link",
       {"readlinkat"},
       {EACCES, EBADF, EFAULT, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       on_paths([](const place& p) -> task<> {
         const std::filesystem::path target = co_await fs::read_symlink(p.io, p.files / "link");
         expect(target == "file", "the link leads to the file");
       })},
  };
}

/// What is no request: calls that block on another thread, or that never block.
inline std::vector<operation> other_operations() {
  const auto walks = [](const place& p) -> attempt {
    return [&p]() -> task<> {
      std::size_t count = 0;
      auto entries = fs::walk_directory(p.io, p.files / ".");
      while (co_await entries.next()) ++count;
      expect(count == 4, "the walk meets every entry");
    };
  };
  const auto copies = [](const place& p) -> attempt {
    return [&p]() -> task<> {
      const std::uint64_t size = co_await fs::copy_file(p.io, p.files / "file", p.io, p.files / "copy",
                                                        file_open_mode::create_always);
      expect(size == 4, "the copy has the size of the file");
    };
  };
  // `make` is called for the attempt; what it returns is destroyed at its end.
  const auto makes = [](auto make) {
    return [make](const place& p) -> attempt {
      return [&p, make]() -> task<> {
        [[maybe_unused]] const auto made = make(p);
        co_return;
      };
    };
  };
  const auto udp = [](const place& p) { return socket::create_udpv4(p.io); };
  const auto tcp = [](const place& p) { return socket::create_tcpv4(p.io); };
  return {
      {"walk: open",
       {"openat"},
       {EACCES, EBADF, ELOOP, EMFILE, ENFILE, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       walks},
      {"walk: open below",
       {"openat2"},
       {EACCES, E2BIG, EINVAL, EMFILE, ENFILE, ENOMEM, ENAMETOOLONG, EXDEV},
       walks},
      {"walk: names", {"getdents64"}, {EBADF, EFAULT, EINVAL, ENOTDIR, EIO}, walks},
      {"walk: status",
       {"statx"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOMEM, ENOTDIR},
       walks},
      {"copy",
       {"copy_file_range"},
       {EBADF, EFBIG, EIO, EISDIR, ENOMEM, ENOSPC, EOVERFLOW, ETXTBSY},
       copies,
       {EINTR, EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM}},
      {"copy: share blocks",
       {"ioctl"},
       {},
       copies,
       {EINTR, EBADF, EINVAL, EISDIR, EOPNOTSUPP, EPERM, ETXTBSY, EXDEV}},
      {"socket",
       {"socket"},
       {EACCES, EAFNOSUPPORT, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPROTONOSUPPORT},
       makes(tcp)},
      {"bind",
       {"bind"},
       {EACCES, EADDRINUSE, EBADF, EINVAL, ENOTSOCK, EADDRNOTAVAIL, EFAULT},
       makes([](const place& p) { return bound_udp(p.io); })},
      {"listen", {"listen"}, {EADDRINUSE, EBADF, ENOTSOCK, EOPNOTSUPP}, makes([](const place& p) {
         return listening(p.io);
       })},
      {"close_send",
       {"shutdown"},
       {EBADF, EINVAL, ENOTSOCK, ENOTCONN},
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           both->near.close_send();
           co_return;
         };
       }},
      {"open at once", {"open"}, of_opening, makes([](const place& p) {
         return coracle::read_only_file::open(p.io, p.files / "file");
       })},
      {"size", {"fstat"}, {EACCES, EBADF, EFAULT, EIO, ENOMEM, EOVERFLOW}, makes([](const place& p) {
         return coracle::read_only_file::open(p.io, p.files / "file");
       })},
      {"set_size",
       {"ftruncate"},
       {EBADF, EFBIG, EINVAL, EIO, EPERM, ETXTBSY, EROFS},
       makes([](const place& p) {
         coracle::write_only_file file = coracle::write_only_file::open(p.io, p.files / "file");
         file.set_size(2);
         return file;
       })},
      {"lock", {"fcntl"}, {EBADF, EDEADLK, EINVAL, ENOLCK}, makes([](const place& p) {
         coracle::write_only_file file = coracle::write_only_file::open(p.io, p.files / "file");
         static_cast<void>(try_lock_exclusive(file));
         return file;
       })},
      {"watcher", {"inotify_init1"}, of_descriptors, makes([](const place& p) {
         return std::make_unique<coracle::file_watcher>(p.io);
       })},
      {"watch",
       {"inotify_add_watch"},
       {EACCES, EBADF, EEXIST, EFAULT, EINVAL, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR},
       makes([](const place& p) {
         auto watcher = std::make_unique<coracle::file_watcher>(p.io);
         watcher->add(p.files / "file");
         return watcher;
       })},
      {"pipe",
       {"pipe2"},
       {EFAULT, EINVAL, EMFILE, ENFILE, ENOPKG},
       makes([](const place& p) { return coracle::make_pipe(p.io); }),
       {}},
      // What an io_service makes when it first needs it.
      {"first epoll instance", {"epoll_create1"}, of_descriptors, makes(udp), {}},
      {"first ring: memory", {"mmap"}, {EAGAIN, EINVAL, ENFILE, ENOMEM, EPERM}, makes(udp), {}},
      {"first ring", {"io_uring_setup"}, {EMFILE, ENFILE, ENOMEM}, makes(udp), {}},
      {"first eventfd", {"eventfd"}, of_descriptors, makes(udp), {}},
      {"first timerfd", {"timerfd_create"}, of_descriptors, makes(udp), {}},
      {"watching a descriptor",
       {"epoll_ctl"},
       {EBADF, EEXIST, EINVAL, ENOENT, ENOMEM, ENOSPC, EPERM},
       makes(udp),
       {}},
  };
}

inline std::vector<operation> all_operations() {
  std::vector<operation> all;
  for (const auto& some : {socket_operations(), file_operations(), path_operations(), other_operations()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

// ---- an attempt ----------------------------------------------------------------------------------------

/// Alone, an operation makes its system call itself; beside a coroutine that is ready to run, an io_uring
/// gets it.
enum class company : bool { alone, beside_another };

inline task<> pass(io_service& io, company with) {
  if (with == company::beside_another) co_await io.schedule();
}
/// Returns the error that it ends with.
inline std::error_code end_of(const place& p, const attempt& work, company with) {
  std::error_code end;
  const auto both = [&]() -> task<> {
    co_await p.io.schedule();  // before that, it is not on the thread of the loop
    try {
      co_await coracle::when_all(pass(p.io, with), work());
    } catch (const std::system_error& failure) {
      end = failure.code();
    }
  };
  p.io.run(both());
  return end;
}

}  // namespace coracle_test::system_errors
