// SPDX-License-Identifier: MIT
#include "engine_choice.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "epoll_backend.hpp"
#include "ring_backend.hpp"
#include "system_error.hpp"

namespace coracle::detail {
namespace {
/// Returns the error with which the system denies io_uring to this process, or 0. A shortage of memory or
/// descriptors does not count: it may pass, and is reported where a ring is then needed.
int io_uring_error() noexcept {
  try {
    const ring tried;
  } catch (const std::system_error& e) {
    const int error = e.code().value();
    if (error == ENOSYS || error == EPERM || error == EACCES || error == EINVAL) return error;
  }
  return 0;
}
/// The same, determined once: what denies io_uring does so for the life of a process.
int cached_io_uring_error() noexcept {
  static const int error = io_uring_error();
  return error;
}

constexpr std::string_view requested = "requested by CORACLE_IO";
}  // namespace

std::unique_ptr<io_backend> chosen_backend(io_loop& loop) {
  const char* const variable = std::getenv("CORACLE_IO");
  const std::string_view engine = variable ? variable : "";
  if (engine == "epoll") return std::make_unique<epoll_backend>(loop, requested);
  if (!engine.empty() && engine != "io_uring") {
    throw_error(EINVAL, "CORACLE_IO is neither epoll nor io_uring: " + std::string{engine});
  }
  const int error = cached_io_uring_error();
  if (error == 0) {
    return std::make_unique<ring_backend>(loop, engine.empty() ? "supported by the system" : requested);
  }
  if (!engine.empty()) {
    throw_error(error, "CORACLE_IO requests io_uring, which is unavailable");
  }
  switch (error) {
    case ENOSYS:
      return std::make_unique<epoll_backend>(loop, "io_uring_setup: Function not implemented");
    case EINVAL:
      return std::make_unique<epoll_backend>(loop, "io_uring_setup: Invalid argument, as before Linux 5.19");
    default:
      return std::make_unique<epoll_backend>(loop, "io_uring_setup: Operation not permitted");
  }
}
}  // namespace coracle::detail
