// SPDX-License-Identifier: MIT
#include "system_call.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <coracle/io/buffer.hpp>
#include <limits>

#include "io_backend.hpp"
#include "message_call.hpp"

namespace coracle::detail {
namespace {
std::int64_t wait_for(int fd, short events) noexcept {
  pollfd one{fd, events, 0};
  const int found = ::poll(&one, 1, 0);
  if (found < 0) return found;
  return found == 0 ? not_ready : one.revents;
}

std::int64_t accept_one(io_request& r) noexcept {
  for (;;) {
    socklen_t length = r.address_size;
    const int accepted = ::accept4(r.record->fd, static_cast<sockaddr*>(r.address),
                                   r.address ? &length : nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0) r.address_size = length;
    // The connection failed before it was accepted: accept the next one.
    if (accepted >= 0 || (errno != ECONNABORTED && errno != EPROTO)) return accepted;
  }
}

std::int64_t receive_from(io_request& r) noexcept {
  socklen_t length = r.address_size;
  const ssize_t received = ::recvfrom(r.record->fd, r.buffer, r.size, r.flags | MSG_DONTWAIT,
                                      static_cast<sockaddr*>(r.address), r.address ? &length : nullptr);
  if (received >= 0) r.address_size = length;
  return received;
}

/// For Linux an attempt is in progress until connect() is called again. Without that call, a connected socket
/// could be connected once more, and one that was refused would report ECONNABORTED first.
std::int64_t end_of_connect(io_request& r) noexcept {
  const int fd = r.record->fd;
  // SO_ERROR is 0 while the attempt is still in progress, too, so first find out whether it has ended.
  const std::int64_t writable = wait_for(fd, POLLOUT);
  if (writable < 0) return writable;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return -1;
  if (error == 0) {
    const int result = ::connect(fd, static_cast<const sockaddr*>(r.address), r.address_size);
    return result != 0 && errno == EISCONN ? 0 : result;  // after a shutdown() of the new connection
  }
  // Given the address, connect() would begin a new attempt after a shutdown(); without one, it ends this one.
  const sockaddr none{AF_UNSPEC, {}};
  static_cast<void>(::connect(fd, &none, sizeof none));
  errno = error;
  return -1;
}
std::int64_t connect(io_request& r) noexcept {
  if (r.begun) {
    const std::int64_t result = end_of_connect(r);
    r.begun = result == not_ready;
    return result;
  }
  if (::connect(r.record->fd, static_cast<const sockaddr*>(r.address), r.address_size) == 0) return 0;
  // An interrupted connect() continues in the background, like one that returns EINPROGRESS.
  r.begun = errno == EINPROGRESS || errno == EINTR;
  return r.begun ? not_ready : -1;
}

/// A pipe that polls as writable has room for at least this many bytes, so a write of no more does not block.
constexpr std::size_t max_nonblocking_write = PIPE_BUF;

/// As wait_for(), but an error for a descriptor that was opened as `otherwise`, and never becomes ready.
std::int64_t wait_to_transfer(int fd, short events, int otherwise) noexcept {
  const std::int64_t ready = wait_for(fd, events);
  if (ready != not_ready || (::fcntl(fd, F_GETFL) & O_ACCMODE) != otherwise) return ready;
  errno = EBADF;
  return -1;
}

std::int64_t read(const io_request& r) noexcept {
  if ((r.flags & poll_first) != 0) {
    if (const auto ready = wait_to_transfer(r.record->fd, POLLIN, O_WRONLY); ready < 0) return ready;
  }
  return ::read(r.record->fd, r.buffer, r.size);
}
/// Before Linux 6.18 there is no flag for this. The signal is sent to the thread that writes, which consumes
/// it.
template <class Call>
ssize_t without_sigpipe_from(Call system_call) noexcept {
  sigset_t pipe, pending, before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  const ssize_t written = system_call();
  const int error = errno;
  if (written < 0 && error == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    while (::sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}
std::int64_t write(const io_request& r) noexcept {
  std::size_t size = r.size;
  if ((r.flags & poll_first) != 0) {
    if (const auto ready = wait_to_transfer(r.record->fd, POLLOUT, O_RDONLY); ready < 0) return ready;
    size = std::min(size, max_nonblocking_write);
  }
  const auto write_now = [&] { return ::write(r.record->fd, r.buffer, size); };
  return (r.flags & without_sigpipe) == 0 ? write_now() : without_sigpipe_from(write_now);
}

/// Returns true if the file has no byte at `offset`, nor behind it.
bool ends_before(int fd, std::uint64_t offset) noexcept {
  struct ::stat about{};
  return ::fstat(fd, &about) == 0 && static_cast<std::uint64_t>(about.st_size) <= offset;
}

/// Beyond the longest file, where every read finds the end, sendfile(2) fails.
std::int64_t send_file(const io_request& r) noexcept {
  constexpr auto longest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (r.offset >= longest) return 0;
  auto from = static_cast<off_t>(r.offset);
  const std::size_t size = std::min<std::uint64_t>(r.size, longest - r.offset);
  const ssize_t sent = without_sigpipe_from([&] { return ::sendfile(r.record->fd, r.flags, &from, size); });
  if (sent >= 0 || errno != EOVERFLOW) return sent;
  if (ends_before(r.flags, r.offset)) return 0;  // the file system has no file that long
  errno = EOVERFLOW;
  return -1;
}

/// A msghdr that has the parts of the request.
msghdr message_of(const io_request& r) noexcept {
  const std::span<const iovec> parts = parts_of(r);
  msghdr header{};
  header.msg_iov = const_cast<iovec*>(parts.data());
  header.msg_iovlen = parts.size();
  return header;
}
std::int64_t receive_parts(const io_request& r) noexcept {
  msghdr header = message_of(r);
  return ::recvmsg(r.record->fd, &header, r.flags | MSG_DONTWAIT);
}
std::int64_t send_parts(const io_request& r) noexcept {
  const msghdr header = message_of(r);
  return ::sendmsg(r.record->fd, &header, r.flags | MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// Of paths that begin at `fd` if they are relative.
std::int64_t call_on_path(const io_request& r, int fd) noexcept {
  const auto* const path = static_cast<const char*>(r.buffer);
  const auto* const other = static_cast<const char*>(r.address);
  switch (r.opcode) {
    case io_opcode::open:
      return ::openat(fd, path, r.flags, static_cast<mode_t>(r.size));
    case io_opcode::status:
      return ::statx(fd, path, r.flags, static_cast<unsigned>(r.size), static_cast<struct statx*>(r.address));
    case io_opcode::rename:
      return ::renameat2(fd, path, fd, other, static_cast<unsigned>(r.flags));
    case io_opcode::link:
      return ::linkat(fd, path, fd, other, r.flags);
    case io_opcode::symlink:
      return ::symlinkat(path, fd, other);
    case io_opcode::make_folder:
      return ::mkdirat(fd, path, static_cast<mode_t>(r.size));
    default:
      return ::unlinkat(fd, path, r.flags);
  }
}

std::int64_t call(io_request& r) noexcept {
  const int fd = r.record->fd;
  switch (r.opcode) {
    case io_opcode::read:
      return read(r);
    case io_opcode::receive:
      return ::recv(fd, r.buffer, r.size, r.flags | MSG_DONTWAIT);
    case io_opcode::receive_from:
      return receive_from(r);
    case io_opcode::accept:
      return accept_one(r);
    case io_opcode::receive_message:
      return receive_message(r);
    case io_opcode::receive_parts:
      return receive_parts(r);
    case io_opcode::receive_batch:
      return ::recvmmsg(fd, static_cast<mmsghdr*>(r.buffer), static_cast<unsigned>(r.size), MSG_DONTWAIT,
                        nullptr);
    case io_opcode::wait_readable:
      return wait_for(fd, POLLIN);
    case io_opcode::write:
      return write(r);
    case io_opcode::send:
      return ::send(fd, r.buffer, r.size, r.flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    case io_opcode::send_to:
      return ::sendto(fd, r.buffer, r.size, r.flags | MSG_DONTWAIT | MSG_NOSIGNAL,
                      static_cast<const sockaddr*>(r.address), r.address_size);
    case io_opcode::send_message:
      return send_message(r);
    case io_opcode::send_parts:
      return send_parts(r);
    case io_opcode::send_batch:
      return ::sendmmsg(fd, static_cast<mmsghdr*>(r.buffer), static_cast<unsigned>(r.size),
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    case io_opcode::send_file:
      return send_file(r);
    case io_opcode::connect:
      return connect(r);
    case io_opcode::wait_writable:
      return wait_for(fd, POLLOUT);
    case io_opcode::read_at:
      return ::pread(fd, r.buffer, r.size, static_cast<off_t>(r.offset));
    case io_opcode::write_at:
      return ::pwrite(fd, r.buffer, r.size, static_cast<off_t>(r.offset));
    case io_opcode::read_parts_at:
      return ::preadv(fd, parts_of(r).data(), static_cast<int>(r.size), static_cast<off_t>(r.offset));
    case io_opcode::write_parts_at:
      return ::pwritev(fd, parts_of(r).data(), static_cast<int>(r.size), static_cast<off_t>(r.offset));
    case io_opcode::sync:
      return ::fsync(fd);
    default:
      return call_on_path(r, fd);
  }
}

/// Returns true if a read of the page cache ended at `offset` because the file does. The cache has whole
/// pages, so what it lacks begins with one, and a read that ends within a page has met the end of the file.
/// One that ends between two pages says nothing; that includes one of 0 bytes, which Linux 5.9 and 5.10 may
/// return anywhere: preadv2(2), "Bugs".
bool is_end(const io_request& r, std::uint64_t offset) noexcept {
  constexpr std::uint64_t least_page = 4096;
  if (offset != r.offset && offset % least_page != 0) return true;
  return ends_before(r.record->fd, offset);
}

/// Returns true if the system reports when another attempt is worthwhile. It does not for a full queue at
/// another Unix address, because an unconnected socket polls as writable then.
bool can_be_waited_for(const io_request& r) noexcept {
  if (r.opcode == io_opcode::connect) return false;
  if (r.opcode != io_opcode::send_message) return true;
  const auto* const name = static_cast<const sockaddr*>(static_cast<const io_message*>(r.address)->name);
  return !name || name->sa_family != AF_UNIX;
}

bool receives(io_opcode code) noexcept {
  switch (code) {
    case io_opcode::receive:
    case io_opcode::receive_from:
    case io_opcode::receive_message:
    case io_opcode::receive_parts:
    case io_opcode::receive_batch:
      return true;
    default:
      return false;
  }
}
/// What a receive gives that has no sender and no bytes.
std::int64_t receive_nothing(io_request& r) noexcept {
  if (r.opcode == io_opcode::receive_from) r.address_size = 0;
  if (r.opcode == io_opcode::receive_message) {
    auto& its = *static_cast<io_message*>(r.address);
    its.name_size = 0;
    its.count = 0;
    its.segment_size = 0;
    its.is_cut = false;
  }
  return 0;
}

/// Repeats the call as long as signals interrupt it. Returns its result, -errno or not_ready.
std::int64_t call_uninterrupted(io_request& r) noexcept {
  for (;;) {
    const std::int64_t result = call(r);
    if (result >= 0 || result == not_ready) return result;
    if (errno != EINTR) return -errno;
  }
}
}  // namespace

std::int64_t try_now(io_request& request) noexcept {
  return unless_lost(request, [&request] {
    const std::int64_t result = call_uninterrupted(request);
    return result == -EAGAIN && can_be_waited_for(request) ? not_ready : result;
  });
}

std::int64_t end_if_shut_down(io_request& request) noexcept {
  const bool accepts = request.opcode == io_opcode::accept;
  if (!accepts && !receives(request.opcode)) return not_ready;
  const std::int64_t state = wait_for(request.record->fd, POLLRDHUP);
  if (state < 0 || (state & POLLRDHUP) == 0) return not_ready;
  return unless_lost(request, [&] { return accepts ? std::int64_t{-EINVAL} : receive_nothing(request); });
}

std::span<const iovec> parts_of(const io_request& request) noexcept {
  static_assert(sizeof(iovec) == sizeof(const_buffer) && sizeof(iovec) == sizeof(mutable_buffer));
  return {static_cast<const iovec*>(request.buffer), request.size};
}
std::size_t total_size(const io_request& request) noexcept {
  switch (request.opcode) {
    case io_opcode::receive_parts:
    case io_opcode::send_parts:
    case io_opcode::read_parts_at:
    case io_opcode::write_parts_at: {
      std::size_t size = 0;
      for (const iovec& each : parts_of(request)) size += each.iov_len;
      return size;
    }
    default:
      return request.size;
  }
}

std::int64_t run_blocking(io_request& request) noexcept { return call_uninterrupted(request); }

std::int64_t read_cached(const io_request& request) noexcept {
  const iovec whole{request.buffer, request.size};
  const std::span<const iovec> room =
      request.opcode == io_opcode::read_at ? std::span{&whole, 1} : parts_of(request);
  const ssize_t n = ::preadv2(request.record->fd, room.data(), static_cast<int>(room.size()),
                              static_cast<off_t>(request.offset), RWF_NOWAIT);
  if (n < 0) return not_ready;
  const auto got = static_cast<std::size_t>(n);
  return got == total_size(request) || is_end(request, request.offset + got) ? n : not_ready;
}

void discard(const io_request& request) noexcept {
  const bool is_descriptor = request.opcode == io_opcode::accept || request.opcode == io_opcode::open;
  if (!is_descriptor || request.result < 0) return;
  request.record->backend->system().close(static_cast<int>(request.result));
}
}  // namespace coracle::detail
