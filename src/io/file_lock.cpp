// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <coracle/core/environment.hpp>
#include <coracle/io/file_lock.hpp>
#include <coracle/time/sleep.hpp>
#include <utility>

#include "io_system.hpp"
#include "system_error.hpp"

namespace coracle {
namespace {
/// The pauses between two attempts.
class lock_pauses {
 public:
  [[nodiscard]] std::chrono::milliseconds next() noexcept {
    constexpr std::chrono::milliseconds longest{64};
    return std::exchange(pause_, pause_ < longest ? 2 * pause_ : longest);
  }

 private:
  std::chrono::milliseconds pause_{1};
};
}  // namespace

std::optional<file_lock> file_lock::attempt(const file& of, int wanted) {
  const int result = of.descriptor_.system().lock(of.native_handle(), wanted);
  if (result == 0) return file_lock{of};
  if (result == -EAGAIN || result == -EACCES) return std::nullopt;
  detail::throw_error(-result, "cannot lock " + of.path_.native());
}
void file_lock::unlock() noexcept {
  if (const file* const locked = std::exchange(file_, nullptr))
    locked->descriptor_.system().lock(locked->native_handle(), F_UNLCK);
}

std::optional<file_lock> try_lock_exclusive(const writable_file& of) {
  return file_lock::attempt(of, F_WRLCK);
}
std::optional<file_lock> try_lock_shared(const readable_file& of) { return file_lock::attempt(of, F_RDLCK); }

detail::library_task<file_lock> detail::lock_exclusive_body(const writable_file& of) {
  lock_pauses pauses;
  for (;;) {
    co_await this_task::throw_if_stopped();
    if (std::optional<file_lock> lock = try_lock_exclusive(of)) co_return std::move(*lock);
    co_await sleep_for(pauses.next());
  }
}
detail::library_task<file_lock> detail::lock_shared_body(const readable_file& of) {
  lock_pauses pauses;
  for (;;) {
    co_await this_task::throw_if_stopped();
    if (std::optional<file_lock> lock = try_lock_shared(of)) co_return std::move(*lock);
    co_await sleep_for(pauses.next());
  }
}
}  // namespace coracle
