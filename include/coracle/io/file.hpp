// coracle/io/file.hpp -- the common base of open files: size and path on disk.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/io/file_buffering_mode.hpp>
#include <coracle/io/file_open_mode.hpp>
#include <coracle/io/file_share_mode.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace coracle {
class io_service;
namespace filesystem {
template <class File>
class open_operation;
}  // namespace filesystem

namespace detail {
class file_copier;

enum class file_access { read, write, read_write };

/// How a file or directory is opened.
struct open_arguments {
  open_arguments(file_access access, file_open_mode open_mode, file_buffering_mode buffering_mode) noexcept;
  [[nodiscard]] static open_arguments of_directory() noexcept;

  int flags;  ///< as of open(2)
  io_descriptor_kind kind;
  file_buffering_mode buffering;
  bool is_directory = false;
};
/// Returns `opened`. Closes it and throws std::system_error on failure, or if it is a directory and `how`
/// expects none.
[[nodiscard]] io_descriptor put_into_use(io_descriptor opened, const std::filesystem::path& path,
                                         const open_arguments& how);

/// Awaiter of the number of bytes that were read or written.
class file_operation : public io_operation {
 public:
  std::size_t await_resume();

 protected:
  template <class Data>
  file_operation(const io_descriptor& descriptor, const std::filesystem::path& path, io_opcode code,
                 Data* data, std::size_t bytes, std::uint64_t position, stop_token token) noexcept
      : io_operation(descriptor, code, data, bytes, std::move(token)), path_(path) {
    offset = position;
  }

 private:
  const std::filesystem::path& path_;  // of the file, for error messages
};
}  // namespace detail

/// An open file. Open a read_only_file, a write_only_file or a read_write_file; a function that only reads or
/// only writes takes a readable_file& or a writable_file&. A FIFO or a terminal is no file: open(2) it with
/// O_NONBLOCK, and pass the descriptor to a stream_descriptor, which reads the end of the stream while no
/// process has the FIFO open for writing. Opened as a file, a FIFO blocks the thread that opens it, or with
/// epoll a file thread, until its other end is opened; to read or to write either is then the error
/// std::errc::invalid_seek.
///
/// Order         operations on one file run concurrently, in no particular order.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service.
/// Cancellation  stop requested before: nothing is started. During: an operation that waits for a thread, or
///               has not been submitted, is cancelled. If it has begun, io_uring asks the kernel to cancel
///               it; with epoll, it completes on its thread.
/// Exceptions    opening, size() and the operations throw std::system_error with the path; a path that
///               contains a NUL is std::errc::invalid_argument. The operations throw operation_cancelled.
/// Threads       any number of threads may read, write and call size() concurrently. While the file is closed
///               or moved, it must not be used. The io_service must outlive the file.
/// Cost          open() blocks, and allocates; filesystem::open_read_only() and the like do not block. An
///               operation allocates nothing. Reads and writes of up to 1 MiB that the page cache can serve
///               run on the awaiting thread, without suspending. Everything else is left to the kernel
///               (io_uring) or takes a thread (epoll): reads from the device, sync(),
///               file_buffering_mode::unbuffered and write_through; and, for a while after a write had to
///               wait for the device, every write.
class file {
 public:
  file(file&&) noexcept = default;
  /// Closes it. Requires: no operation on it is pending.
  virtual ~file();

  /// The current size, in bytes.
  [[nodiscard]] std::uint64_t size() const;
  /// The descriptor, for system calls that this class does not make; -1 if the file was moved from.
  [[nodiscard]] int native_handle() const noexcept { return descriptor_.native_handle(); }

 protected:
  file() noexcept = default;
  file(io_service& service, const std::filesystem::path& path, detail::file_access access,
       file_open_mode open_mode, file_buffering_mode buffering_mode);
  file(detail::io_descriptor descriptor, std::filesystem::path path) noexcept
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  file& operator=(file&&) noexcept = default;

  detail::io_descriptor descriptor_;
  std::filesystem::path path_;

 private:
  friend class file_lock;
  friend class detail::file_copier;
};
}  // namespace coracle
