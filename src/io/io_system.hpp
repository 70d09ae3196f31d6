// SPDX-License-Identifier: MIT
#pragma once
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <coracle/io/detail/io_request.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace coracle::detail {
class io_loop;

/// The system below an io_service: its clock, the calls on descriptors that never block, and the backend that
/// carries out the others. It is Linux, or a simulation.
///
/// Errors   the calls return -errno.
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
  /// Returns a second descriptor of the same socket.
  virtual int duplicate(int fd) noexcept = 0;
  virtual void close(int fd) noexcept = 0;

 protected:
  ~io_system() = default;
};
}  // namespace coracle::detail
