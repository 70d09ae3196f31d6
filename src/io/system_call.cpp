// SPDX-License-Identifier: MIT
#include "system_call.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
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
    // A connection that has gone before it was accepted is no affair of the listener's.
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

std::int64_t end_of_connect(int fd) noexcept {
  // SO_ERROR is 0 also while it goes on.
  const std::int64_t writable = wait_for(fd, POLLOUT);
  if (writable < 0) return writable;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return -1;
  if (error == 0) return 0;
  errno = error;
  return -1;
}
std::int64_t connect(io_request& r) noexcept {
  if (r.begun) return end_of_connect(r.record->fd);
  if (::connect(r.record->fd, static_cast<const sockaddr*>(r.address), r.address_size) == 0) return 0;
  // Interrupted, it goes on by itself like one that takes its time.
  r.begun = errno == EINPROGRESS || errno == EINTR;
  return r.begun ? not_ready : -1;
}

/// A pipe that has room has so much at least, and a write of so much at most does not block then.
constexpr std::size_t most_that_does_not_block = PIPE_BUF;

std::int64_t read(const io_request& r) noexcept {
  if ((r.flags & asks_first) != 0) {
    if (const std::int64_t ready = wait_for(r.record->fd, POLLIN); ready < 0) return ready;
  }
  return ::read(r.record->fd, r.buffer, r.size);
}
/// The system has no flag for it before Linux 6.18. The signal comes to the thread that writes, and is taken from it.
std::int64_t write_without_sigpipe(int fd, const void* from, std::size_t size) noexcept {
  sigset_t pipe, pending, before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  const ssize_t written = ::write(fd, from, size);
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
  std::size_t most = r.size;
  if ((r.flags & asks_first) != 0) {
    if (const std::int64_t ready = wait_for(r.record->fd, POLLOUT); ready < 0) return ready;
    most = std::min(most, most_that_does_not_block);
  }
  const bool may_signal = (r.flags & without_sigpipe) == 0;
  return may_signal ? ::write(r.record->fd, r.buffer, most)
                    : write_without_sigpipe(r.record->fd, r.buffer, most);
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
    case io_opcode::connect:
      return connect(r);
    case io_opcode::wait_writable:
      return wait_for(fd, POLLOUT);
    case io_opcode::read_at:
      return ::pread(fd, r.buffer, r.size, static_cast<off_t>(r.offset));
    case io_opcode::write_at:
      return ::pwrite(fd, r.buffer, r.size, static_cast<off_t>(r.offset));
    case io_opcode::sync:
      return ::fsync(fd);
  }
  errno = EINVAL;
  return -1;
}

/// Linux 5.9 and 5.10 say 0 also where the file goes on: preadv2(2), "Bugs".
bool is_end(const io_request& r, std::uint64_t offset) noexcept {
  struct ::stat about{};
  return ::fstat(r.record->fd, &about) == 0 && static_cast<std::uint64_t>(about.st_size) <= offset;
}

/// Returns true if the system says when a request is worth another attempt. Of a full queue at another Unix address
/// it does not: a socket that is connected nowhere counts as writable then.
bool can_be_waited_for(const io_request& r) noexcept {
  if (r.opcode == io_opcode::connect) return false;
  return r.opcode != io_opcode::send_message || !static_cast<const io_message*>(r.address)->name;
}

/// Calls again where a signal interrupted it. Gives -errno.
std::int64_t call_to_its_end(io_request& r) noexcept {
  for (;;) {
    const std::int64_t result = call(r);
    if (result >= 0 || result == not_ready) return result;
    if (errno != EINTR) return -errno;
  }
}
}  // namespace

std::int64_t try_now(io_request& request) noexcept {
  return unless_lost(request, [&request] {
    const std::int64_t result = call_to_its_end(request);
    return result == -EAGAIN && can_be_waited_for(request) ? not_ready : result;
  });
}

std::int64_t run_blocking(io_request& request) noexcept { return call_to_its_end(request); }

std::int64_t read_cached(const io_request& request) noexcept {
  // No file reaches so far. The system would take it for a negative offset, and -1 for that of the descriptor.
  if (request.offset >= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return 0;
  const iovec whole{request.buffer, request.size};
  const ssize_t n = ::preadv2(request.record->fd, &whole, 1, static_cast<off_t>(request.offset), RWF_NOWAIT);
  if (n < 0) return not_ready;
  const auto got = static_cast<std::size_t>(n);
  return got == request.size || is_end(request, request.offset + got) ? n : not_ready;
}

void discard(const io_request& request) noexcept {
  if (request.opcode != io_opcode::accept || request.result < 0) return;
  request.record->backend->system().close(static_cast<int>(request.result));
}
}  // namespace coracle::detail
