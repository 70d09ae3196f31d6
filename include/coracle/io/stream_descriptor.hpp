// coracle/io/stream_descriptor.hpp -- pipes, terminals, standard input and output, and other byte streams.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <cstddef>

namespace coracle {
class io_service;

/// Awaiter of the number of bytes read.
class [[nodiscard("nothing is read until this is awaited")]] stream_read_operation
    : public detail::io_operation {
 public:
  stream_read_operation(const detail::io_descriptor& descriptor, mutable_buffer to, int how,
                        stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::read, to.data(), to.size(), std::move(token)) {
    flags = how;
  }
  std::size_t await_resume();
};
/// Awaiter of the number of bytes written.
class [[nodiscard("nothing is written until this is awaited")]] stream_write_operation
    : public detail::io_operation {
 public:
  stream_write_operation(const detail::io_descriptor& descriptor, const_buffer bytes, int how,
                         stop_token token) noexcept
      : io_operation(descriptor, detail::io_opcode::write, bytes.data(), bytes.size(), std::move(token)) {
    flags = how;
  }
  std::size_t await_resume();
};

/// Awaitable of nothing.
class [[nodiscard("this waits only when it is awaited")]] stream_wait_operation
    : public detail::io_operation {
 public:
  stream_wait_operation(const detail::io_descriptor& descriptor, detail::io_opcode what,
                        stop_token token) noexcept
      : io_operation(descriptor, what, static_cast<void*>(nullptr), 0, std::move(token)) {}
  void await_resume();
};

/// Owns a descriptor that is read or written sequentially: the end of a pipe or FIFO, a terminal, an
/// inherited socket, or a file that standard input was redirected from. It is a byte_stream.
///
///     auto input = coracle::stream_descriptor::standard_input(io);
///     coracle::buffered_reader reader{input};
///     while (const auto line = co_await reader.read_line()) handle(*line);
///
/// Prefer net::socket::adopt() for sockets, and read_only_file and its relatives for files, which can be read
/// at any offset.
/// Order         reads in the order in which they were awaited, and likewise writes.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service, if it had to wait.
/// Cancellation  ends the wait immediately, and nothing is read or written. For a regular file: as `file`.
/// Exceptions    std::system_error, operation_cancelled. Writing to a pipe whose read end is closed raises
///               SIGPIPE, which terminates the program. If SIGPIPE is ignored (`std::signal(SIGPIPE,
///               SIG_IGN)`), the write throws std::errc::broken_pipe.
/// Threads       operations from any number of threads concurrently. While the descriptor is closed or moved,
///               it must not be used. The io_service must outlive it.
/// Cost          as a socket. A descriptor in blocking mode stays in it, because every process that has the
///               descriptor, such as the shell, shares that mode. Therefore each read or write is preceded by
///               a poll(2), and at most 4096 bytes are written at once. If another process empties or fills
///               the pipe between the two calls, the thread blocks.
class stream_descriptor {
 public:
  /// Takes ownership of `fd`, and closes it if the constructor throws std::system_error or std::bad_alloc.
  /// Requires: `service` is not simulated.
  stream_descriptor(io_service& service, int fd);
  /// Owns a duplicate of descriptor 0, 1 or 2; the original stays open.
  [[nodiscard]] static stream_descriptor standard_input(io_service& service);
  [[nodiscard]] static stream_descriptor standard_output(io_service& service);
  [[nodiscard]] static stream_descriptor standard_error(io_service& service);

  /// Requires: no operation on it is pending.
  void close() noexcept { descriptor_.close(); }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_.is_open(); }
  /// -1 if it is closed.
  [[nodiscard]] int native_handle() const noexcept { return descriptor_.native_handle(); }

  /// Awaitable of the number of bytes read, at least one; 0 at the end of a file, or when all writers of a
  /// pipe have closed it. `token` replaces the inherited stop token, here and below. Requires: `to` is not
  /// empty.
  stream_read_operation read_some(mutable_buffer to, stop_token token = {}) noexcept {
    CORACLE_CHECK(to.size() != 0, detail::reads_nothing);
    return {descriptor_, to, how_, std::move(token)};
  }
  stream_read_operation read_some(void* buffer, byte_count size, stop_token token = {}) noexcept {
    return read_some(mutable_buffer{buffer, size}, std::move(token));
  }
  /// Awaitable of the number of bytes written, at least one, of text or bytes.
  stream_write_operation write_some(const_buffer bytes, stop_token token = {}) noexcept {
    return {descriptor_, bytes, how_, std::move(token)};
  }
  stream_write_operation write_some(const void* buffer, byte_count size, stop_token token = {}) noexcept {
    return write_some(const_buffer{buffer, size}, std::move(token));
  }
  /// Awaitable of nothing, which completes when all bytes have been written. After a cancellation or an
  /// error, `*written`, if given, is the number of bytes written; pass it again to continue from there.
  CORACLE_CORO_WRAPPER()
  task<> write_all(const_buffer bytes, stop_token token = {}, std::size_t* written = nullptr) {
    return write_all_body(bytes, std::move(token), written);
  }
  CORACLE_CORO_WRAPPER()
  task<> write_all(const void* buffer, byte_count size, stop_token token = {},
                   std::size_t* written = nullptr) {
    return write_all_body({buffer, size}, std::move(token), written);
  }

  // For a library that reads and writes by itself, on a descriptor of its own, and only needs to know when:
  // construct this from a copy of that descriptor, made by dup(). The library's descriptor must be
  // non-blocking, and the library must handle EAGAIN, because another reader may have been faster.

  /// Awaitable of nothing: it can be read, or is at its end, or has failed. A regular file always can.
  stream_wait_operation wait_readable(stop_token token = {}) noexcept {
    return {descriptor_, detail::io_opcode::wait_readable, std::move(token)};
  }
  /// Awaitable of nothing: it can be written, or has failed.
  stream_wait_operation wait_writable(stop_token token = {}) noexcept {
    return {descriptor_, detail::io_opcode::wait_writable, std::move(token)};
  }

 private:
  friend class process;
  friend class file_watcher;
  /// Takes a non-blocking descriptor.
  explicit stream_descriptor(detail::io_descriptor descriptor) noexcept
      : descriptor_(std::move(descriptor)), how_(0) {}
  [[nodiscard]] detail::io_system& system() const noexcept { return descriptor_.system(); }
  detail::library_task<> write_all_body(const_buffer bytes, stop_token token, std::size_t* written);
  void spare_sigpipe() noexcept { how_ |= detail::without_sigpipe; }

  detail::io_descriptor descriptor_;
  int how_;
};

/// Both ends of a pipe.
struct pipe_ends {
  stream_descriptor read_end, write_end;
};
/// Creates a pipe, neither end of which a child process inherits. Throws std::system_error, std::bad_alloc.
[[nodiscard]] pipe_ends make_pipe(io_service& service);
}  // namespace coracle
