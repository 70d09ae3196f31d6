// src/io/wake_sources.hpp -- two descriptors that wake a thread from a sleep in the system.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <cstdint>

#include "owned_fd.hpp"

namespace coracle::detail {
/// What a backend sleeps on besides its I/O: an eventfd for wake() and a timerfd for set_timer(). Both are
/// ready at first, so that the first sleep ends immediately. Therefore a wake() or set_timer() that is called
/// before these descriptors exist can do nothing: under the loop's lock it precedes that first sleep, after
/// which the loop checks everything.
///
/// The descriptors are never read. They are watched edge-triggered, and each write and each expiry is an edge
/// of its own. The eventfd cannot overflow: that would take 2^64 writes.
class wake_sources {
 public:
  /// Throws std::system_error.
  wake_sources()
      : event_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create") {
    set_timer(1);
  }

  [[nodiscard]] int event_fd() const noexcept { return event_.get(); }
  [[nodiscard]] int timer_fd() const noexcept { return timer_.get(); }

  void wake() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_.get(), &one, sizeof one));
  }
  /// `time` is in nanoseconds of CLOCK_MONOTONIC.
  void set_timer(std::uint64_t time) const noexcept {
    constexpr std::uint64_t second = 1'000'000'000;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(time / second);
    when.it_value.tv_nsec = static_cast<long>(time % second);
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  }

 private:
  owned_fd event_, timer_;
};
}  // namespace coracle::detail
