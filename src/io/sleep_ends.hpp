// src/io/sleep_ends.hpp -- two descriptors that end a thread's sleep in the system.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <cstdint>

#include "owned_fd.hpp"

namespace coracle::detail {
/// What a backend sleeps on besides its I/O: an eventfd for wake() and a timerfd for set_timer(). Both are ready at first, so
/// that the first sleep ends at once. Whoever found no backend to wake therefore need not leave word: a wake() or a set_timer()
/// that found none comes before that sleep in the order of the loop's lock, and the loop looks at everything after it.
///
/// Nobody reads the descriptors. They are watched edge-triggered, and each write and each expiry is an edge of its own. The
/// eventfd never fills up: that takes 2^64 writes.
class sleep_ends {
 public:
  /// Throws std::system_error.
  sleep_ends()
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
  /// Nanoseconds by CLOCK_MONOTONIC.
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
