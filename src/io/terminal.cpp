// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/terminal.hpp>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "owned_fd.hpp"

namespace coracle {
std::optional<terminal_size> size_of_terminal(const stream_descriptor& terminal) noexcept {
  winsize size{};
  const bool is_known = ::ioctl(terminal.native_handle(), TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  if (!is_known) return std::nullopt;
  return terminal_size{size.ws_col, size.ws_row};
}
bool is_terminal(const stream_descriptor& stream) noexcept { return ::isatty(stream.native_handle()) == 1; }

/// Has a descriptor of its own: the stream may be closed first.
struct raw_mode::saved {
  explicit saved(int fd) : terminal(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "cannot use a terminal") {
    if (::tcgetattr(terminal.get(), &mode) != 0) detail::throw_errno("cannot use a terminal");
  }
  void set(const termios& to) const noexcept {
    while (::tcsetattr(terminal.get(), TCSADRAIN, &to) != 0 && errno == EINTR) {
    }
  }

  detail::owned_fd terminal;
  termios mode{};

  /// The existing ones, for std::exit(); the latest last.
  struct registry {
    std::mutex mutex;
    std::vector<saved*> all;
  };
  /// Never destroyed: it is unspecified which of the objects that std::exit() destroys come first.
  static registry& registered() {
    static registry& its = *new registry;
    return its;
  }
  static void restore_all() noexcept {
    registry& its = registered();
    const std::lock_guard lock{its.mutex};
    for (auto each = its.all.rbegin(); each != its.all.rend(); ++each) (*each)->set((*each)->mode);
  }
};

raw_mode::raw_mode(const stream_descriptor& terminal) : before_(new saved{terminal.native_handle()}) {
  static const bool at_exit = std::atexit(&saved::restore_all) == 0;
  static_cast<void>(at_exit);
  {
    saved::registry& its = saved::registered();
    const std::lock_guard lock{its.mutex};
    its.all.push_back(before_.get());
  }
  termios raw = before_->mode;
  ::cfmakeraw(&raw);
  before_->set(raw);
}
raw_mode::~raw_mode() {
  saved::registry& its = saved::registered();
  const std::lock_guard lock{its.mutex};
  std::erase(its.all, before_.get());
  before_->set(before_->mode);
}
}  // namespace coracle
