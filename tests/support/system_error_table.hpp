// tests/support/system_error_table.hpp -- every operation, and the errors with which it may fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/io/copy_file.hpp>
#include <coracle/io/file_lock.hpp>
#include <coracle/io/file_watcher.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/walk_directory.hpp>
#include <coracle/io/write_only_file.hpp>
#include <cstdint>
#include <system_error>
#include <vector>

#include "expect.hpp"
#include "system_error_files.hpp"
#include "system_error_operation.hpp"
#include "system_error_sockets.hpp"

namespace coracle_test::system_errors {
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

/// Alone, an operation makes its system call itself, and so does the first send after a poll. Otherwise,
/// beside a coroutine that is ready to run, an io_uring gets it.
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
