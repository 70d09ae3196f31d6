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

/// The system under an io_service: its clock, the calls on descriptors that do not wait, and what waits for the
/// others. Linux, or a simulated one.
///
/// Errors   the calls give -errno.
/// Threads  all members from any thread.
class io_system {
 public:
  /// The one that the process runs on.
  [[nodiscard]] static io_system& linux_system() noexcept;

  io_system() noexcept = default;
  io_system(const io_system&) = delete;
  io_system& operator=(const io_system&) = delete;

  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() noexcept = 0;
  /// How long turns last is told by this clock: turn_clock(), or what a test says.
  [[nodiscard]] virtual std::uint64_t ticks() noexcept = 0;
  /// Throws std::system_error, std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<io_backend> backend_for(io_loop& loop) = 0;

  /// Gives a descriptor. `flags` as of open(2); a new file's mode is 0666 less the umask.
  virtual int open(const std::filesystem::path& path, int flags) noexcept = 0;
  virtual int status(int fd, struct ::stat& about) noexcept = 0;
  virtual int set_size(int fd, std::uint64_t size) noexcept = 0;
  /// Gives a descriptor. `family` and `type` as of socket(2).
  virtual int open_socket(int family, int type) noexcept = 0;
  virtual int bind(int fd, const sockaddr* address, socklen_t size) noexcept = 0;
  /// Lets bind() take a port over from an earlier server: SO_REUSEADDR.
  virtual void reuse_address(int fd) noexcept = 0;
  virtual int listen(int fd, int backlog) noexcept = 0;
  virtual int local_address(int fd, sockaddr_storage& address) noexcept = 0;
  /// `how` as of shutdown(2).
  virtual int shut_down(int fd, int how) noexcept = 0;
  /// Undoes the connect() of a UDP socket.
  virtual int dissolve(int fd) noexcept = 0;
  /// Gives a second descriptor of the same socket.
  virtual int duplicate(int fd) noexcept = 0;
  virtual void close(int fd) noexcept = 0;

 protected:
  ~io_system() = default;
};
}  // namespace coracle::detail
