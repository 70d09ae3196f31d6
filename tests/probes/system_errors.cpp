// tests/probes/system_errors.cpp -- every operation, with every error that the manual page of its system
// call lists, on both engines: it ends with this error, nothing is lost or left open, and the next attempt
// succeeds. Then every transfer, a byte at a time.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/file_lock.hpp>
#include <coracle/io/file_watcher.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/io/whole_file.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/send_file.hpp>
#include <coracle/net/socket.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "../support/expect.hpp"
#include "../support/system_faults.hpp"

namespace {
namespace faults = coracle_test::system_faults;
namespace fs = coracle::filesystem;
using coracle::file_buffering_mode;
using coracle::file_open_mode;
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using coracle_test::expect;
using bytes = std::span<const std::byte>;

// ---- where the operations take place -------------------------------------------------------------------

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

/// A folder with a file `file` that contains "text", a directory `full` and a symbolic link `link`.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "coracle_errors.XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
    reset();
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }
  void reset() {
    for (const auto& each : std::filesystem::directory_iterator{path_}) std::filesystem::remove_all(each);
    const int fd = ::open((path_ / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (::write(fd, "text", 4) != 4) std::abort();
    ::close(fd);
    std::filesystem::create_directories(path_ / "full/below");
    std::filesystem::create_symlink("file", path_ / "link");
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Where one attempt takes place.
struct place {
  explicit place(const folder& its_files) : files(its_files) {}
  io_service io;
  const folder& files;
};
socket bound_udp(io_service& io) {
  socket one = socket::create_udpv4(io);
  one.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  return one;
}
socket listening(io_service& io) {
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
  std::function<attempt(place&)> prepare;
  std::vector<int> survived = {EINTR};  ///< errors after which the operation goes on, and succeeds
};

// Those of the manual pages that say something about the call, rather than about its arguments, which
// coracle passes; a kernel may return those too, so EBADF, EFAULT, EINVAL and ENOTSOCK are among them.
// EAGAIN means to wait.
const std::vector<int> of_receiving{EBADF,  ECONNREFUSED, ECONNRESET, EFAULT,    EINVAL,
                                    ENOMEM, ENOTCONN,     ENOTSOCK,   ETIMEDOUT, EIO};
const std::vector<int> of_sending{EACCES,  EALREADY, EBADF, ECONNRESET, EDESTADDRREQ, EFAULT,
                                  EINVAL,  EISCONN,  EIO,   EMSGSIZE,   ENETDOWN,     ENETUNREACH,
                                  ENOBUFS, ENOMEM,   EPIPE, ENOTCONN,   ENOTSOCK,     EOPNOTSUPP};
const std::vector<int> of_reading{EBADF, EFAULT, EINVAL, EIO, EISDIR, EOVERFLOW, ENOMEM};
const std::vector<int> of_writing{EBADF, EDESTADDRREQ, EDQUOT, EFAULT, EFBIG, EINVAL,
                                  EIO,   ENOSPC,       EPERM,  EPIPE,  EROFS, ENOMEM};
const std::vector<int> of_syncing{EBADF, EDQUOT, EINVAL, EIO, ENOSPC, EROFS};
const std::vector<int> of_opening{EACCES, EBADF, EBUSY,   EDQUOT, EEXIST, EFAULT,       EFBIG,   EINVAL,
                                  EISDIR, ELOOP, EMFILE,  ENODEV, ENOENT, ENAMETOOLONG, ENFILE,  ENOMEM,
                                  ENOSPC, ENXIO, ENOTDIR, EPERM,  EROFS,  EOPNOTSUPP,   ETXTBSY, EOVERFLOW};
const std::vector<int> of_paths{EACCES, EBADF,   EBUSY,     EDQUOT, EEXIST, EFAULT,      EINVAL,
                                EIO,    EISDIR,  ELOOP,     EMLINK, ENOENT, ENOMEM,      ENOSPC,
                                EPERM,  ENOTDIR, ENOTEMPTY, EROFS,  EXDEV,  ENAMETOOLONG};
const std::vector<int> of_descriptors{EINVAL, EMFILE, ENFILE, ENOMEM};

template <class Object>
std::shared_ptr<Object> shared(Object object) {
  return std::make_shared<Object>(std::move(object));
}

std::vector<operation> socket_operations() {
  return {
      {"recv",
       {"recv", "ring RECV"},
       of_receiving,
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           const std::size_t sent = co_await both->near.send("x", 1);
           expect(sent == 1, "send() sends the byte");
         };
       }},
      {"send of pieces",
       {"sendmsg"},
       of_sending,
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
         const auto listener = shared(listening(p.io));
         const auto client = shared(socket::create_tcpv4(p.io));
         return [listener, client]() -> task<> { co_await client->connect(listener->local_endpoint()); };
       },
       {}},
      {"recv_from",
       {"recvfrom"},
       of_receiving,
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           const std::size_t sent = co_await both->from.send_to(both->to.local_endpoint(), "x", 1);
           expect(sent == 1, "send_to() sends the datagram");
         };
       }},
      {"recv_batch",
       {"recvmmsg"},
       of_receiving,
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           coracle::net::datagram_batch batch{2, 16};
           batch.add(both->to.local_endpoint(), std::as_bytes(std::span{"text", 4}));
           const std::size_t sent = co_await coracle::net::send_batch(both->from, batch);
           expect(sent == 1, "send_batch() sends the datagram");
         };
       }},
  };
}

std::vector<operation> file_operations() {
  const auto reading = [](place& p) { return shared(coracle::read_only_file::open(p.io, p.files / "file")); };
  const auto writing = [](place& p, file_buffering_mode mode = {}) {
    return shared(coracle::read_write_file::open(p.io, p.files / "file", file_open_mode::open_existing,
                                                 coracle::file_share_mode::none, mode));
  };
  const auto writes = [writing](file_buffering_mode mode) {
    return [writing, mode](place& p) -> attempt {
      const auto file = writing(p, mode);
      return [file]() -> task<> {
        const std::size_t written = co_await file->write(4, "more", 4);
        expect(written == 4 && file->size() == 8, "write() writes the bytes");
      };
    };
  };
  const auto writes_pieces = [writing](file_buffering_mode mode) {
    return [writing, mode](place& p) -> attempt {
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
       [reading](place& p) -> attempt {
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
       [reading](place& p) -> attempt {
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
       [writing](place& p) -> attempt {
         const auto file = writing(p);
         return [file]() -> task<> { co_await file->sync(); };
       }},
      {"read of a pipe",
       {"read"},
       of_reading,
       [](place& p) -> attempt {
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
       [](place& p) -> attempt {
         const auto ends = shared(coracle::make_pipe(p.io));
         return [ends]() -> task<> {
           const std::size_t written = co_await ends->write_end.write_some("x", 1);
           expect(written == 1, "write_some() writes the byte");
         };
       }},
  };
}

std::vector<operation> path_operations() {
  // Each is awaited with paths that are there.
  const auto on_paths = [](auto work) {
    return [work](place& p) -> attempt { return [&p, work]() -> task<> { return work(p); }; };
  };
  return {
      {"open", {"openat", "ring OPENAT"}, of_opening, on_paths([](place& p) -> task<> {
         const auto file = co_await fs::open_read_only(p.io, p.files / "file");
         expect(file.size() == 4, "the file is open");
       })},
      {"status",
       {"statx", "ring STATX"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       on_paths([](place& p) -> task<> {
         const auto found = co_await fs::status(p.io, p.files / "file");
         expect(found.size == 4, "the status is that of the file");
       })},
      {"exists",
       {"statx", "ring STATX"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOMEM},
       on_paths([](place& p) -> task<> {
         const bool found = co_await fs::exists(p.io, p.files / "file");
         expect(found, "the file exists");
       })},
      {"rename", {"renameat2", "ring RENAMEAT"}, of_paths, on_paths([](place& p) -> task<> {
         co_await fs::rename(p.io, p.files / "file", p.files / "other");
       })},
      {"hard link", {"linkat", "ring LINKAT"}, of_paths, on_paths([](place& p) -> task<> {
         co_await fs::create_hard_link(p.io, p.files / "file", p.files / "other");
       })},
      {"symbolic link", {"symlinkat", "ring SYMLINKAT"}, of_paths, on_paths([](place& p) -> task<> {
         co_await fs::create_symlink(p.io, "file", p.files / "other");
       })},
      {"create a directory", {"mkdirat", "ring MKDIRAT"}, of_paths, on_paths([](place& p) -> task<> {
         co_await fs::create_directory(p.io, p.files / "other");
       })},
      {"remove", {"unlinkat", "ring UNLINKAT"}, of_paths, on_paths([](place& p) -> task<> {
         co_await fs::remove(p.io, p.files / "file");
       })},
      {"remove a directory", {"unlinkat", "ring UNLINKAT"}, of_paths, on_paths([](place& p) -> task<> {
         co_await fs::remove_directory(p.io, p.files / "full/below");
       })},
      {"read a symbolic link",
       {"readlinkat"},
       {EACCES, EBADF, EFAULT, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       on_paths([](place& p) -> task<> {
         const std::filesystem::path target = co_await fs::read_symlink(p.io, p.files / "link");
         expect(target == "file", "the link leads to the file");
       })},
  };
}

/// What is no request: calls that block on another thread, or that never block.
std::vector<operation> other_operations() {
  const auto walks = [](place& p) -> attempt {
    return [&p]() -> task<> {
      std::size_t count = 0;
      auto entries = fs::walk_directory(p.io, p.files / ".");
      while (co_await entries.next()) ++count;
      expect(count == 4, "the walk meets every entry");
    };
  };
  const auto copies = [](place& p) -> attempt {
    return [&p]() -> task<> {
      const std::uint64_t size = co_await fs::copy_file(p.io, p.files / "file", p.io, p.files / "copy",
                                                        file_open_mode::create_always);
      expect(size == 4, "the copy has the size of the file");
    };
  };
  // `make` is called for the attempt; what it returns is destroyed at its end.
  const auto makes = [](auto make) {
    return [make](place& p) -> attempt {
      return [&p, make]() -> task<> {
        [[maybe_unused]] const auto made = make(p);
        co_return;
      };
    };
  };
  const auto udp = [](place& p) { return socket::create_udpv4(p.io); };
  const auto tcp = [](place& p) { return socket::create_tcpv4(p.io); };
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
       makes([](place& p) { return bound_udp(p.io); })},
      {"listen", {"listen"}, {EADDRINUSE, EBADF, ENOTSOCK, EOPNOTSUPP}, makes([](place& p) {
         return listening(p.io);
       })},
      {"close_send",
       {"shutdown"},
       {EBADF, EINVAL, ENOTSOCK, ENOTCONN},
       [](place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           both->near.close_send();
           co_return;
         };
       }},
      {"open at once", {"open"}, of_opening, makes([](place& p) {
         return coracle::read_only_file::open(p.io, p.files / "file");
       })},
      {"size", {"fstat"}, {EACCES, EBADF, EFAULT, EIO, ENOMEM, EOVERFLOW}, makes([](place& p) {
         return coracle::read_only_file::open(p.io, p.files / "file");
       })},
      {"set_size", {"ftruncate"}, {EBADF, EFBIG, EINVAL, EIO, EPERM, ETXTBSY, EROFS}, makes([](place& p) {
         coracle::write_only_file file = coracle::write_only_file::open(p.io, p.files / "file");
         file.set_size(2);
         return file;
       })},
      {"lock", {"fcntl"}, {EBADF, EDEADLK, EINVAL, ENOLCK}, makes([](place& p) {
         coracle::write_only_file file = coracle::write_only_file::open(p.io, p.files / "file");
         static_cast<void>(try_lock_exclusive(file));
         return file;
       })},
      {"watcher", {"inotify_init1"}, of_descriptors, makes([](place& p) {
         return std::make_unique<coracle::file_watcher>(p.io);
       })},
      {"watch",
       {"inotify_add_watch"},
       {EACCES, EBADF, EEXIST, EFAULT, EINVAL, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR},
       makes([](place& p) {
         auto watcher = std::make_unique<coracle::file_watcher>(p.io);
         watcher->add(p.files / "file");
         return watcher;
       })},
      {"pipe",
       {"pipe2"},
       {EFAULT, EINVAL, EMFILE, ENFILE, ENOPKG},
       makes([](place& p) { return coracle::make_pipe(p.io); }),
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

// ---- running them --------------------------------------------------------------------------------------

/// Alone, an operation makes its system call itself; beside a coroutine that is ready to run, an io_uring
/// gets it.
enum class company : bool { alone, beside_another };

task<> pass(io_service& io, company with) {
  if (with == company::beside_another) co_await io.schedule();
}
/// Returns the error that it ends with.
std::error_code end_of(place& p, const attempt& work, company with) {
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

unsigned trials = 0;

void explain(const operation& what, const char* engine, int error) {
  std::printf("%s, %s, %s\n", what.name, engine, ::strerrorname_np(error));
}

/// Returns the one of its calls that was made and failed, or null.
const std::string_view* fails_once(const operation& what, folder& files, const char* engine, company with,
                                   int error, bool survives) {
  const int failures_before = coracle_test::failures;
  const std::ptrdiff_t open_before = open_descriptors();
  bool has_failed = false;
  {
    files.reset();
    place p{files};
    const attempt work = what.prepare(p);
    faults::failing = what.calls;
    faults::error = error;
    faults::failed = nullptr;
    faults::polls = 0;
    faults::is_armed = true;
    const std::error_code end = end_of(p, work, with);
    has_failed = !faults::is_armed.exchange(false);
    constexpr unsigned most_polls = 100;
    expect(faults::polls < most_polls, "the loop does not spin");
    const std::error_code expected{has_failed && !survives ? error : 0, std::system_category()};
    expect(end == expected, "the operation ends with the error");
    if (end) expect(!end_of(p, work, with), "the next attempt succeeds");
    p.io.process_pending_events();
    expect(p.io.process_pending_events() == 0, "the loop is idle afterwards");
  }
  expect(open_descriptors() == open_before, "no descriptor is left open");
  trials += has_failed ? 1 : 0;
  if (coracle_test::failures != failures_before) explain(what, engine, error);
  return faults::failed;
}

void fails_with_each_error(const operation& what, folder& files) {
  std::set<const std::string_view*> failed;
  for (const char* const engine : {"epoll", "io_uring"}) {
    ::setenv("CORACLE_IO", engine, 1);
    for (const company with : {company::alone, company::beside_another}) {
      for (const int each : what.errors) failed.insert(fails_once(what, files, engine, with, each, false));
      for (const int each : what.survived) failed.insert(fails_once(what, files, engine, with, each, true));
    }
  }
  for (const std::string_view& each : what.calls) {
    if (failed.contains(&each)) continue;
    expect(false, "the operation makes this call");
    std::printf("%s: %s\n", what.name, each.data());
  }
}

// ---- a byte at a time ----------------------------------------------------------------------------------

std::string some_text() {
  std::string text;
  for (int i = 0; i != 40; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

task<std::string> received(socket& from, std::size_t size) {
  std::string text(size, ' ');
  co_await from.recv_exactly(text.data(), size);
  co_return text;
}
task<> sends(place& p, const std::string& text) {
  connection both{p.io};
  const coracle::const_buffer pieces[] = {{text.data(), 100}, {text.data() + 100, text.size() - 100}};
  const auto send = [&]() -> task<> {
    co_await both.far.send_all(text);
    std::vector<coracle::const_buffer> rest(std::begin(pieces), std::end(pieces));
    co_await both.far.send_all(rest);
    const auto file = co_await fs::open_read_only(p.io, p.files / "text");
    const std::uint64_t sent = co_await coracle::net::send_file(both.far, file, 0, text.size());
    expect(sent == text.size(), "send_file() sends all");
  };
  const auto receive = [&]() -> task<> {
    for (int i = 0; i != 3; ++i) {
      const std::string got = co_await received(both.near, text.size());
      expect(got == text, "what is sent arrives");
    }
  };
  co_await coracle::when_all(send(), receive());
}
task<> reads_lines(place& p, const std::string& text) {
  connection both{p.io};
  const auto send = [&]() -> task<> {
    coracle::buffered_writer writer{both.far};
    co_await writer.write(text);
    co_await writer.flush();
  };
  const auto receive = [&]() -> task<> {
    coracle::buffered_reader reader{both.near};
    std::string all;
    while (all.size() != text.size()) {
      const auto line = co_await reader.read_line();
      all.append(line.value()).append("\n");
    }
    expect(all == text, "the lines arrive");
  };
  co_await coracle::when_all(send(), receive());
}
task<> pipes(place& p, const std::string& text) {
  coracle::pipe_ends ends = coracle::make_pipe(p.io);
  const auto write = [&]() -> task<> { co_await ends.write_end.write_all(text); };
  const auto read = [&]() -> task<> {
    std::string all;
    char room[64];
    while (all.size() != text.size()) {
      const std::size_t got = co_await ends.read_end.read_some(room, sizeof room);
      all.append(room, got);
    }
    expect(all == text, "what is written to a pipe is read");
  };
  co_await coracle::when_all(write(), read());
}
task<> files(place& p, const std::string& text) {
  for (const auto mode : {file_buffering_mode::default_, file_buffering_mode::write_through}) {
    auto file = co_await fs::open_read_write(p.io, p.files / "other", file_open_mode::create_always, mode);
    co_await file.write_all(0, text.data(), text.size());
    std::string read(text.size(), ' ');
    co_await file.read_exactly(0, read.data(), read.size());
    expect(read == text, "what is written to a file is read");
  }
  co_await fs::copy_file(p.io, p.files / "other", p.io, p.files / "copy");
  co_await fs::write_atomically(p.io, p.files / "whole", text);
  for (const char* const name : {"copy", "whole"}) {
    const std::string read = co_await fs::read_file(p.io, p.files / name);
    expect(read == text, "copies are complete");
  }
}

void moves_a_byte_at_a_time(folder& where) {
  const std::string text = some_text();
  struct transfer {
    const char* name;
    task<> (*make)(place&, const std::string&);
  };
  constexpr transfer transfers[] = {
      {"sends", &sends}, {"reads_lines", &reads_lines}, {"pipes", &pipes}, {"files", &files}};
  for (const char* const engine : {"epoll", "io_uring"}) {
    ::setenv("CORACLE_IO", engine, 1);
    for (const company with : {company::alone, company::beside_another}) {
      for (const transfer& each : transfers) {
        const int failures_before = coracle_test::failures;
        where.reset();
        place p{where};
        p.io.run(fs::write_file(p.io, where / "text", text));
        const std::ptrdiff_t open_before = open_descriptors();
        faults::limited = 0;
        faults::most_bytes = 1;
        const std::error_code end = end_of(p, [&] { return each.make(p, text); }, with);
        faults::most_bytes = faults::no_limit;
        expect(!end, "transfers of one byte are enough");
        expect(faults::limited >= text.size() - 8, "transfers move one byte");
        expect(open_descriptors() == open_before, "a transfer leaves no descriptor open");
        if (coracle_test::failures != failures_before) std::printf("%s, %s\n", each.name, engine);
      }
    }
  }
}
}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  ::alarm(240);  // an operation that hangs ends the program
  folder where;
  faults::refuses_cached_reads = true;
  for (const auto& operations :
       {socket_operations(), file_operations(), path_operations(), other_operations()}) {
    for (const operation& each : operations) fails_with_each_error(each, where);
  }
  std::printf("%u calls have failed\n", trials);
  for (const bool cached : {true, false}) {
    faults::refuses_cached_reads = !cached;
    moves_a_byte_at_a_time(where);
  }
  return coracle_test::exit_status("each error is reported, and nothing is lost");
}
