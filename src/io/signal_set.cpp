// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/io/io_service.hpp>
#include <coracle/io/signal_set.hpp>
#include <mutex>
#include <string>
#include <system_error>

#include "io_failure_of.hpp"
#include "io_system.hpp"
#include "signal_route.hpp"
#include "system_error.hpp"

namespace coracle {
namespace {
using detail::throw_error;

constexpr int last_signal = 64;
static_assert(detail::atomic<std::uint64_t>::is_always_lock_free, "a signal handler takes no lock");

detail::signal_route routes[last_signal + 1];
std::mutex actions_mutex;  // guards `before`, and keeps it and `owners` consistent with the route
struct sigaction before[last_signal + 1];
//   [P1] whose pipe  relaxed  written before the handler is installed, read by it
detail::atomic<::pid_t> owners[last_signal + 1];

/// A child process inherits the handler and the pipe from fork(), but must not pass its own signals to its
/// parent.
extern "C" void pass_on_signal(int number) {
  const int error = errno;
  if (owners[number].load(detail::memory_order_relaxed) != ::getpid()) { /*P1*/
    ::sigaction(number, &before[number], nullptr);
    ::raise(number);  // delivered when this handler has returned
  } else {
    routes[number].pass([number](int pipe) {
      const auto byte = static_cast<unsigned char>(number);
      static_cast<void>(!::write(pipe, &byte, 1));
    });
  }
  errno = error;
}

}  // namespace

int signal_wait_operation::await_resume() {
  take_result("cannot wait for a signal");
  return number_;
}

signal_set::signal_set(io_service& service) {
  CORACLE_REQUIRE(&detail::io_descriptor::system_of(service) == &detail::io_system::linux_system(),
                  "a signal_set was made for a simulated io_service, where no signals come");
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) throw_error(errno, "cannot create a pipe for signals");
  write_ = ends[1];
  try {
    read_ = detail::io_descriptor{service, ends[0], detail::io_descriptor_kind::pollable};
  } catch (...) {
    ::close(write_);
    throw;
  }
}

signal_set::signal_set(io_service& service, std::initializer_list<int> signals) : signal_set(service) {
  for (const int number : signals) catch_one(number);
}

void signal_set::catch_one(int number) {
  const std::string failure = "cannot catch signal " + std::to_string(number);
  if (number < 1 || number > last_signal) throw_error(EINVAL, failure);
  const std::uint64_t bit = std::uint64_t{1} << (number - 1);
  if ((caught_ & bit) != 0) return;
  const std::lock_guard lock{actions_mutex};
  if (!routes[number].open(write_)) throw_error(EBUSY, failure + ", which another signal_set catches");
  owners[number].store(::getpid(), detail::memory_order_relaxed); /*P1*/
  struct sigaction action{};
  action.sa_handler = &pass_on_signal;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  if (::sigaction(number, &action, &before[number]) != 0) {
    const int error = errno;
    routes[number].close();
    throw_error(error, failure);
  }
  caught_ |= bit;
}

signal_set::~signal_set() {
  for (int number = 1; number <= last_signal; ++number) {
    if ((caught_ >> (number - 1) & 1) == 0) continue;
    const std::lock_guard lock{actions_mutex};
    ::sigaction(number, &before[number], nullptr);
    routes[number].close();
  }
  ::close(write_);
}
}  // namespace coracle

namespace coracle::detail {
template std::exception_ptr io_failure_of(signal_wait_operation&) noexcept;
}  // namespace coracle::detail
