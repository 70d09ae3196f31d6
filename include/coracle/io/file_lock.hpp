// coracle/io/file_lock.hpp -- excludes other programs, and other parts of this one, from a file.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/readable_file.hpp>
#include <coracle/io/writable_file.hpp>
#include <optional>
#include <utility>

namespace coracle {
/// A lock on a whole file, which is held for the lifetime of this object: shared by any number of readers, or
/// exclusive. It is advisory, which means that it excludes only what locks the file too: other processes, and
/// this one if it has opened the file a second time.
///
///     auto journal = co_await coracle::filesystem::open_read_write(io, "journal");
///     const coracle::file_lock only = co_await coracle::lock_exclusive(journal);
///
/// It belongs to the opened file (F_OFD_SETLK of fcntl(2)), not to the process as F_SETLK does: closing
/// another descriptor of the file does not release it. The system releases it if the process is killed.
/// Requires: the file is not closed, moved or locked again before the lock has ended.
class [[nodiscard("the lock is released at once if this is dropped: give it a name")]] file_lock {
 public:
  file_lock(file_lock&& other) noexcept : file_(detail::exchange(other.file_, nullptr)) {}
  file_lock& operator=(file_lock&& other) noexcept {
    file_lock taken{std::move(other)};
    detail::swap_values(file_, taken.file_);
    return *this;
  }
  ~file_lock() { unlock(); }

  [[nodiscard]] bool owns_lock() const noexcept { return file_ != nullptr; }
  void unlock() noexcept;

 private:
  friend std::optional<file_lock> try_lock_exclusive(const writable_file& of);
  friend std::optional<file_lock> try_lock_shared(const readable_file& of);
  explicit file_lock(const file& locked) noexcept : file_(&locked) {}
  /// `wanted` is a type of lock as of fcntl(2).
  static std::optional<file_lock> attempt(const file& of, int wanted);

  const file* file_;
};

/// Returns the lock, or none if others have the file locked. Never waits. Throws std::system_error if the
/// file system cannot lock.
[[nodiscard]] std::optional<file_lock> try_lock_exclusive(const writable_file& of);
/// The same, for a lock that excludes only exclusive ones.
[[nodiscard]] std::optional<file_lock> try_lock_shared(const readable_file& of);

namespace detail {
library_task<file_lock> lock_exclusive_body(const writable_file& of);
library_task<file_lock> lock_shared_body(const readable_file& of);
}  // namespace detail

/// Awaitable of the lock, as soon as nobody else has the file locked.
///
/// Order         none: of those that wait, any one may be next. A steady stream of readers keeps a writer
///               out.
/// Resumes on    the executor on which it was awaited; outside any executor, the program's timer thread, if
///               it had to wait.
/// Cancellation  ends the wait immediately; the file is then not locked.
/// Exceptions    operation_cancelled; std::system_error if the file system cannot lock.
/// Threads       any number may wait for locks of different opened files.
/// Cost          a frame. The system can only block a thread until a lock is free, so this tries again: after
///               1 ms, then after twice as long each time, up to 64 ms.
CORACLE_CORO_WRAPPER()
inline task<file_lock> lock_exclusive(const writable_file& of) { return detail::lock_exclusive_body(of); }
/// The same, for a lock that excludes only exclusive ones.
CORACLE_CORO_WRAPPER()
inline task<file_lock> lock_shared(const readable_file& of) { return detail::lock_shared_body(of); }
}  // namespace coracle
