// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <cerrno>
#include <coracle/io/file_lock.hpp>

#include "io_system.hpp"
#include "system_error.hpp"

namespace coracle {
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
}  // namespace coracle
