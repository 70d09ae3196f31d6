// SPDX-License-Identifier: MIT
#include "engine_choice.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "epoll_backend.hpp"
#include "ring_backend.hpp"

namespace coracle::detail {
namespace {
/// Why the system has no io_uring for this process; 0 if it has. Out of memory or descriptors is no reason: that may pass, and
/// whoever then needs the ring is told.
int refusal() noexcept {
  try {
    const ring tried;
  } catch (const std::system_error& e) {
    const int error = e.code().value();
    if (error == ENOSYS || error == EPERM || error == EACCES || error == EINVAL) return error;
  }
  return 0;
}
/// Asked once: what forbids it holds for the life of a process.
int known_refusal() noexcept {
  static const int its = refusal();
  return its;
}

constexpr std::string_view asked_for = "CORACLE_IO asks for it";
}  // namespace

std::unique_ptr<io_backend> chosen_backend(io_loop& loop) {
  const char* const variable = std::getenv("CORACLE_IO");
  const std::string_view asked = variable ? variable : "";
  if (asked == "epoll") return std::make_unique<epoll_backend>(loop, asked_for);
  if (!asked.empty() && asked != "io_uring") {
    throw std::system_error(EINVAL, std::system_category(),
                            "CORACLE_IO is neither epoll nor io_uring: " + std::string{asked});
  }
  const int refused = known_refusal();
  if (refused == 0) {
    return std::make_unique<ring_backend>(loop, asked.empty() ? "the system offers it" : asked_for);
  }
  if (!asked.empty())
    throw std::system_error(refused, std::system_category(), "CORACLE_IO asks for io_uring");
  switch (refused) {
    case ENOSYS:
      return std::make_unique<epoll_backend>(loop, "io_uring_setup: Function not implemented");
    case EINVAL:
      return std::make_unique<epoll_backend>(loop, "io_uring_setup: Invalid argument, as before Linux 5.19");
    default:
      return std::make_unique<epoll_backend>(loop, "io_uring_setup: Operation not permitted");
  }
}
}  // namespace coracle::detail
