// SPDX-License-Identifier: MIT
#pragma once
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <coracle/io/detail/io_request.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace coracle {
class blocking_service;
}  // namespace coracle

namespace coracle::detail {
class io_loop;

/// The system below an io_service: its clock, the calls on descriptors that never block, those that block and
/// are no requests, and the backend that carries out the others. It is Linux, or a simulation.
///
/// Errors   the calls return -errno. None is interrupted by signals.
/// Threads  all members may be called from any thread.
class io_system {
 public:
  /// The system that the process runs on.
  [[nodiscard]] static io_system& linux_system() noexcept;

  io_system() noexcept = default;
  io_system(const io_system&) = delete;
  io_system& operator=(const io_system&) = delete;

  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() noexcept = 0;
  /// The clock that limits how long turns last: turn_clock(), or one that a test controls.
  [[nodiscard]] virtual std::uint64_t ticks() noexcept = 0;
  /// Throws std::system_error, std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<io_backend> backend_for(io_loop& loop) = 0;
  /// What makes the blocking() calls on an io_service of this system; null: the threads of their pool.
  [[nodiscard]] virtual blocking_service* blocking_calls() noexcept { return nullptr; }

  /// Returns a descriptor. `flags` are those of open(2); a new file's mode is 0666 less the umask.
  virtual int open(const std::filesystem::path& path, int flags) noexcept = 0;
  virtual int status(int fd, struct ::stat& about) noexcept = 0;
  virtual int set_size(int fd, std::uint64_t size) noexcept = 0;
  /// Locks all of a file for this opened file of it, or unlocks it: F_OFD_SETLK of fcntl(2). `type` is
  /// F_RDLCK, F_WRLCK or F_UNLCK.
  virtual int lock(int fd, int type) noexcept = 0;
  /// Returns a descriptor. `family` and `type` are those of socket(2).
  virtual int open_socket(int family, int type) noexcept = 0;
  virtual int bind(int fd, const sockaddr* address, socklen_t size) noexcept = 0;
  /// Lets bind() reuse the port of an earlier server: SO_REUSEADDR.
  virtual void reuse_address(int fd) noexcept = 0;
  virtual int listen(int fd, int backlog) noexcept = 0;
  virtual int local_address(int fd, sockaddr_storage& address) noexcept = 0;
  /// `how` is that of shutdown(2).
  virtual int shut_down(int fd, int how) noexcept = 0;
  /// Undoes the connect() of a UDP socket.
  virtual int dissolve(int fd) noexcept = 0;
  /// Lets one receive_message receive several datagrams: UDP_GRO.
  virtual int join_datagrams(int fd) noexcept = 0;
  /// Returns a second descriptor of the same socket.
  virtual int duplicate(int fd) noexcept = 0;
  virtual void close(int fd) noexcept = 0;
  /// Returns a descriptor that reports changes of files: inotify_init1(2).
  virtual int open_watcher() noexcept = 0;
  /// inotify_add_watch(2), which may block.
  virtual int watch(int watcher, const char* path, std::uint32_t changes) noexcept = 0;
  virtual int unwatch(int watcher, int watch) noexcept = 0;

  // These may block. Call them inside blocking().

  /// openat2(2) of a directory. With `is_below`, through no symbolic link and not above `base`.
  virtual int open_directory(int base, const char* path, bool is_below) noexcept = 0;
  /// getdents64(2): stores records of names. Returns their size, 0 at the end.
  virtual std::int64_t read_names(int directory, void* to, std::size_t size) noexcept = 0;
  /// statx(2) of a name in a directory, for the basic fields, without following a symbolic link.
  virtual int status_of_name(int directory, const char* name, struct ::statx& about) noexcept = 0;
  /// readlinkat(2).
  virtual std::int64_t read_link(int base, const char* path, char* to, std::size_t size) noexcept = 0;
  /// Makes `to` share the blocks of `from`: FICLONE.
  virtual int share_blocks(int from, int to) noexcept = 0;
  /// copy_file_range(2), at the same offset in both.
  virtual std::int64_t copy_range(int from, int to, std::uint64_t offset, std::size_t size) noexcept = 0;
  /// lseek(2). `whence` is SEEK_DATA or SEEK_HOLE.
  virtual std::int64_t seek(int fd, std::uint64_t offset, int whence) noexcept = 0;
  virtual std::int64_t read_at(int fd, void* to, std::size_t size, std::uint64_t offset) noexcept = 0;
  virtual std::int64_t write_at(int fd, const void* from, std::size_t size,
                                std::uint64_t offset) noexcept = 0;

 protected:
  ~io_system() = default;
};
}  // namespace coracle::detail
