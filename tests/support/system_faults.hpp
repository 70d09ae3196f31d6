// tests/support/system_faults.hpp -- makes system calls of this program fail, or move few bytes at a time,
// whether the program makes them or an io_uring does. It replaces functions of the C library: include it in
// one file.
// SPDX-License-Identifier: MIT
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

/// All members may be used by any thread; the settings only change while nothing runs.
namespace coracle_test::system_faults {
inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// The settings.
inline std::span<const std::string_view> failing;  ///< names of functions; of an io_uring: "ring RECV" ...
inline int error = 0;                              ///< what the next of these calls fails with
inline std::atomic<bool> is_armed = false;         ///< false again after it
inline std::size_t most_bytes = no_limit;          ///< that a read or write moves
inline bool refuses_cached_reads = false;          ///< preadv2() always fails

// What has happened.
inline std::atomic<const std::string_view*> failed = nullptr;  ///< the one of `failing` that has failed last
inline std::atomic<unsigned> limited = 0;                      ///< reads and writes that moved less
inline std::atomic<unsigned> polls = 0;  ///< calls in which the event loop polls or waits

/// Sets errno and returns true if the call shall fail.
inline bool fails(std::string_view call) noexcept {
  if (!is_armed) return false;
  const auto found = std::ranges::find(failing, call);
  if (found == failing.end() || !is_armed.exchange(false)) return false;
  failed = &*found;
  errno = error;
  return true;
}
inline std::size_t limit(std::size_t size) noexcept {
  if (size <= most_bytes) return size;
  ++limited;
  return most_bytes;
}
/// The part of a vectored transfer that is made.
class limited_parts {
 public:
  limited_parts(const iovec* parts, std::size_t count) noexcept : parts_(parts), count_(count) {
    if (most_bytes == no_limit) return;
    const iovec* const first =
        std::find_if(parts, parts + count, [](const iovec& one) { return one.iov_len != 0; });
    if (first == parts + count) return;
    only_ = {first->iov_base, limit(first->iov_len)};
    parts_ = &only_;
    count_ = 1;
  }
  [[nodiscard]] iovec* data() const noexcept { return const_cast<iovec*>(parts_); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  const iovec* parts_;
  std::size_t count_;
  iovec only_{};
};

template <class Function>
Function* real(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// ---- io_uring ------------------------------------------------------------------------------------------

/// The memory that a ring shares with the kernel.
struct shared_ring {
  io_uring_params params{};
  char* queues = nullptr;
  io_uring_sqe* entries = nullptr;

  [[nodiscard]] std::uint32_t& at(std::uint32_t offset) const noexcept {
    return *reinterpret_cast<std::uint32_t*>(queues + offset);
  }
};
inline std::mutex rings_mutex;
inline std::map<int, shared_ring> rings;

inline std::string_view name_of(std::uint8_t opcode) noexcept {
  switch (opcode) {
    case IORING_OP_RECV:
      return "ring RECV";
    case IORING_OP_SEND:
      return "ring SEND";
    case IORING_OP_ACCEPT:
      return "ring ACCEPT";
    case IORING_OP_READ:
      return "ring READ";
    case IORING_OP_WRITE:
      return "ring WRITE";
    case IORING_OP_READV:
      return "ring READV";
    case IORING_OP_WRITEV:
      return "ring WRITEV";
    case IORING_OP_FSYNC:
      return "ring FSYNC";
    case IORING_OP_OPENAT:
      return "ring OPENAT";
    case IORING_OP_STATX:
      return "ring STATX";
    case IORING_OP_RENAMEAT:
      return "ring RENAMEAT";
    case IORING_OP_LINKAT:
      return "ring LINKAT";
    case IORING_OP_SYMLINKAT:
      return "ring SYMLINKAT";
    case IORING_OP_MKDIRAT:
      return "ring MKDIRAT";
    case IORING_OP_UNLINKAT:
      return "ring UNLINKAT";
    default:
      return {};
  }
}

inline void limit_entry(io_uring_sqe& entry) noexcept {
  if (most_bytes == no_limit) return;
  switch (entry.opcode) {
    case IORING_OP_RECV:
    case IORING_OP_SEND:
    case IORING_OP_READ:
    case IORING_OP_WRITE:
      entry.len = static_cast<std::uint32_t>(limit(entry.len));
      break;
    case IORING_OP_READV:
    case IORING_OP_WRITEV: {
      const limited_parts parts{reinterpret_cast<const iovec*>(entry.addr), entry.len};
      entry.opcode = entry.opcode == IORING_OP_READV ? IORING_OP_READ : IORING_OP_WRITE;
      entry.addr = reinterpret_cast<std::uintptr_t>(parts.data()->iov_base);
      entry.len = static_cast<std::uint32_t>(parts.data()->iov_len);
      break;
    }
    default:
      break;
  }
}

/// The kernel carries out NOP in place of the entry that shall fail, and the completion gets the error.
inline long enter_ring(const shared_ring& ring, const auto& enter) noexcept {
  std::uint64_t replaced = 0;
  const std::uint32_t mask = ring.params.sq_entries - 1;
  const std::uint32_t end = ring.at(ring.params.sq_off.tail);
  for (std::uint32_t each = ring.at(ring.params.sq_off.head); each != end; ++each) {
    io_uring_sqe& entry = ring.entries[each & mask];
    limit_entry(entry);
    if (!fails(name_of(entry.opcode))) continue;
    replaced = entry.user_data;
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = IORING_OP_NOP;
    entry.user_data = replaced;
  }
  const long result = enter();
  if (replaced == 0) return result;
  auto* const completions = reinterpret_cast<io_uring_cqe*>(ring.queues + ring.params.cq_off.cqes);
  const std::uint32_t last =
      std::atomic_ref(ring.at(ring.params.cq_off.tail)).load(std::memory_order_acquire);
  for (std::uint32_t each = ring.at(ring.params.cq_off.head); each != last; ++each) {
    io_uring_cqe& one = completions[each & (ring.params.cq_entries - 1)];
    if (one.user_data == replaced) one.res = -error;
  }
  return result;
}
}  // namespace coracle_test::system_faults

// ---- functions of the C library ------------------------------------------------------------------------

#define CORACLE_FAILING(result, name, exceptions, parameters, arguments)                  \
  extern "C" result name parameters exceptions {                                          \
    static const auto real = coracle_test::system_faults::real<result parameters>(#name); \
    return coracle_test::system_faults::fails(#name) ? result(-1) : real arguments;       \
  }
/// `size` is the name of the number of bytes.
#define CORACLE_MOVING(name, parameters, size, arguments)                                  \
  extern "C" ssize_t name parameters {                                                     \
    static const auto real = coracle_test::system_faults::real<ssize_t parameters>(#name); \
    if (coracle_test::system_faults::fails(#name)) return -1;                              \
    size = coracle_test::system_faults::limit(size);                                       \
    return real arguments;                                                                 \
  }

CORACLE_MOVING(send, (int fd, const void* from, size_t size, int flags), size, (fd, from, size, flags))
CORACLE_MOVING(pread, (int fd, void* to, size_t size, off_t offset), size, (fd, to, size, offset))
CORACLE_MOVING(pwrite, (int fd, const void* from, size_t size, off_t offset), size, (fd, from, size, offset))
CORACLE_MOVING(copy_file_range,
               (int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags), size,
               (from, from_at, to, to_at, size, flags))

// Not limited: a recv(2) of a stream is short only if it has emptied the socket, which coracle relies on
// with epoll. What it receives is short because each send is.
CORACLE_FAILING(ssize_t, recv, , (int fd, void* to, size_t size, int flags), (fd, to, size, flags))
CORACLE_FAILING(ssize_t, recvfrom, ,
                (int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* length),
                (fd, to, size, flags, from, length))
CORACLE_FAILING(ssize_t, sendto, ,
                (int fd, const void* from, size_t size, int flags, const sockaddr* to, socklen_t length),
                (fd, from, size, flags, to, length))
CORACLE_FAILING(int, recvmmsg, , (int fd, mmsghdr* to, unsigned count, int flags, timespec* timeout),
                (fd, to, count, flags, timeout))
CORACLE_FAILING(int, sendmmsg, , (int fd, mmsghdr* from, unsigned count, int flags), (fd, from, count, flags))
CORACLE_FAILING(int, accept4, , (int fd, sockaddr* from, socklen_t* length, int flags),
                (fd, from, length, flags))
CORACLE_FAILING(int, connect, , (int fd, const sockaddr* to, socklen_t length), (fd, to, length))
CORACLE_FAILING(int, fsync, , (int fd), (fd))
CORACLE_FAILING(int, statx, noexcept,
                (int fd, const char* path, int flags, unsigned mask, struct statx* about),
                (fd, path, flags, mask, about))
CORACLE_FAILING(int, renameat2, noexcept,
                (int from, const char* path, int to, const char* other, unsigned flags),
                (from, path, to, other, flags))
CORACLE_FAILING(int, linkat, noexcept, (int from, const char* path, int to, const char* other, int flags),
                (from, path, to, other, flags))
CORACLE_FAILING(int, symlinkat, noexcept, (const char* target, int to, const char* path), (target, to, path))
CORACLE_FAILING(int, mkdirat, noexcept, (int fd, const char* path, mode_t mode), (fd, path, mode))
CORACLE_FAILING(int, unlinkat, noexcept, (int fd, const char* path, int flags), (fd, path, flags))
CORACLE_FAILING(ssize_t, readlinkat, noexcept, (int fd, const char* path, char* to, size_t size),
                (fd, path, to, size))
CORACLE_FAILING(int, fstat, noexcept, (int fd, struct stat* about), (fd, about))
CORACLE_FAILING(int, ftruncate, noexcept, (int fd, off_t size), (fd, size))
CORACLE_FAILING(int, socket, noexcept, (int family, int type, int protocol), (family, type, protocol))
CORACLE_FAILING(int, bind, noexcept, (int fd, const sockaddr* address, socklen_t length),
                (fd, address, length))
CORACLE_FAILING(int, listen, noexcept, (int fd, int backlog), (fd, backlog))
CORACLE_FAILING(int, shutdown, noexcept, (int fd, int how), (fd, how))
CORACLE_FAILING(int, epoll_create1, noexcept, (int flags), (flags))
CORACLE_FAILING(int, epoll_ctl, noexcept, (int epoll, int what, int fd, epoll_event* events),
                (epoll, what, fd, events))
CORACLE_FAILING(int, eventfd, noexcept, (unsigned value, int flags), (value, flags))
CORACLE_FAILING(int, timerfd_create, noexcept, (int clock, int flags), (clock, flags))
CORACLE_FAILING(int, inotify_init1, noexcept, (int flags), (flags))
CORACLE_FAILING(int, inotify_add_watch, noexcept, (int fd, const char* path, std::uint32_t changes),
                (fd, path, changes))
CORACLE_FAILING(int, pipe2, noexcept, (int* ends, int flags), (ends, flags))

extern "C" ssize_t sendfile(int to, int from, off_t* offset, size_t size) noexcept {
  static const auto real = coracle_test::system_faults::real<ssize_t(int, int, off_t*, size_t)>("sendfile");
  if (coracle_test::system_faults::fails("sendfile")) return -1;
  return real(to, from, offset, coracle_test::system_faults::limit(size));
}
// An eventfd and a timerfd take and give 8 bytes, never fewer.
extern "C" ssize_t read(int fd, void* to, size_t size) {
  static const auto real = coracle_test::system_faults::real<ssize_t(int, void*, size_t)>("read");
  if (coracle_test::system_faults::fails("read")) return -1;
  return real(fd, to, size == sizeof(std::uint64_t) ? size : coracle_test::system_faults::limit(size));
}
extern "C" ssize_t write(int fd, const void* from, size_t size) {
  static const auto real = coracle_test::system_faults::real<ssize_t(int, const void*, size_t)>("write");
  if (coracle_test::system_faults::fails("write")) return -1;
  return real(fd, from, size == sizeof(std::uint64_t) ? size : coracle_test::system_faults::limit(size));
}
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static const auto real = coracle_test::system_faults::real<ssize_t(int, msghdr*, int)>("recvmsg");
  if (coracle_test::system_faults::fails("recvmsg")) return -1;
  const coracle_test::system_faults::limited_parts parts{message->msg_iov, message->msg_iovlen};
  msghdr less = *message;
  less.msg_iov = parts.data();
  less.msg_iovlen = parts.size();
  const ssize_t result = real(fd, &less, flags);
  less.msg_iov = message->msg_iov;
  less.msg_iovlen = message->msg_iovlen;
  *message = less;
  return result;
}
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static const auto real = coracle_test::system_faults::real<ssize_t(int, const msghdr*, int)>("sendmsg");
  if (coracle_test::system_faults::fails("sendmsg")) return -1;
  const coracle_test::system_faults::limited_parts parts{message->msg_iov, message->msg_iovlen};
  msghdr less = *message;
  less.msg_iov = parts.data();
  less.msg_iovlen = parts.size();
  return real(fd, &less, flags);
}
extern "C" ssize_t preadv(int fd, const iovec* to, int count, off_t offset) {
  static const auto real =
      coracle_test::system_faults::real<ssize_t(int, const iovec*, int, off_t)>("preadv");
  if (coracle_test::system_faults::fails("preadv")) return -1;
  const coracle_test::system_faults::limited_parts parts{to, static_cast<std::size_t>(count)};
  return real(fd, parts.data(), static_cast<int>(parts.size()), offset);
}
extern "C" ssize_t pwritev(int fd, const iovec* from, int count, off_t offset) {
  static const auto real =
      coracle_test::system_faults::real<ssize_t(int, const iovec*, int, off_t)>("pwritev");
  if (coracle_test::system_faults::fails("pwritev")) return -1;
  const coracle_test::system_faults::limited_parts parts{from, static_cast<std::size_t>(count)};
  return real(fd, parts.data(), static_cast<int>(parts.size()), offset);
}
extern "C" ssize_t preadv2(int fd, const iovec* to, int count, off_t offset, int flags) {
  static const auto real =
      coracle_test::system_faults::real<ssize_t(int, const iovec*, int, off_t, int)>("preadv2");
  if (coracle_test::system_faults::refuses_cached_reads) {
    errno = EAGAIN;
    return -1;
  }
  const coracle_test::system_faults::limited_parts parts{to, static_cast<std::size_t>(count)};
  return real(fd, parts.data(), static_cast<int>(parts.size()), offset, flags);
}
extern "C" int open(const char* path, int flags, ...) {
  static const auto real = coracle_test::system_faults::real<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return coracle_test::system_faults::fails("open") ? -1 : real(path, flags, mode);
}
extern "C" int openat(int base, const char* path, int flags, ...) {
  static const auto real = coracle_test::system_faults::real<int(int, const char*, int, ...)>("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return coracle_test::system_faults::fails("openat") ? -1 : real(base, path, flags, mode);
}
extern "C" int fcntl(int fd, int command, ...) {
  static const auto real = coracle_test::system_faults::real<int(int, int, ...)>("fcntl");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return coracle_test::system_faults::fails("fcntl") ? -1 : real(fd, command, argument);
}
extern "C" int ioctl(int fd, unsigned long command, ...) noexcept {
  static const auto real = coracle_test::system_faults::real<int(int, unsigned long, ...)>("ioctl");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return coracle_test::system_faults::fails("ioctl") ? -1 : real(fd, command, argument);
}
extern "C" int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
  static const auto real = coracle_test::system_faults::real<int(int, epoll_event*, int, int)>("epoll_wait");
  ++coracle_test::system_faults::polls;
  return real(epoll, events, count, timeout);
}
extern "C" void* mmap(void* wish, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  using namespace coracle_test::system_faults;
  static const auto real_mmap = real<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (fd >= 0 && fails("mmap")) return MAP_FAILED;
  void* const mapped = real_mmap(wish, size, protection, flags, fd, offset);
  if (fd < 0 || mapped == MAP_FAILED) return mapped;
  const std::lock_guard lock{rings_mutex};
  const auto found = rings.find(fd);
  if (found != rings.end() && offset == IORING_OFF_SQ_RING) found->second.queues = static_cast<char*>(mapped);
  if (found != rings.end() && offset == IORING_OFF_SQES)
    found->second.entries = static_cast<io_uring_sqe*>(mapped);
  return mapped;
}
extern "C" long syscall(long number, ...) noexcept {
  using namespace coracle_test::system_faults;
  static const auto real_syscall = real<long(long, ...)>("syscall");
  long a[6];
  va_list rest;
  va_start(rest, number);
  for (long& each : a) each = va_arg(rest, long);
  va_end(rest);
  const auto call = [&] { return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
  switch (number) {
    case SYS_openat2:
      return fails("openat2") ? -1 : call();
    case SYS_getdents64:
      return fails("getdents64") ? -1 : call();
    case SYS_io_uring_setup: {
      if (fails("io_uring_setup")) return -1;
      const long fd = call();
      if (fd < 0) return fd;
      const std::lock_guard lock{rings_mutex};
      rings[static_cast<int>(fd)] = {*reinterpret_cast<const io_uring_params*>(a[1]), nullptr, nullptr};
      return fd;
    }
    case SYS_io_uring_enter: {
      ++polls;
      shared_ring ring;
      {
        const std::lock_guard lock{rings_mutex};
        ring = rings.at(static_cast<int>(a[0]));
      }
      return enter_ring(ring, call);
    }
    default:
      return call();
  }
}
#undef CORACLE_FAILING
#undef CORACLE_MOVING
