// coracle/base/asymmetric_fence.hpp -- a pair of fences of which the frequent one costs nothing.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/base/config.hpp>

#if !defined(CORACLE_MODEL)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace coracle::detail {
/// Two threads that each write one word, pass a fence and read the other's: at least one sees what the other wrote,
/// where one fence is light and the other heavy. The light one keeps the compiler from reordering; the heavy one has
/// the system run a full fence on every thread of this process. Where the system cannot, both are full fences. Once it
/// could, it has to: a heavy one that is refused later, as by a seccomp filter, ends the program, since other threads
/// have already passed light ones that order nothing by themselves.
/// Source: membarrier(2); D. Dice, M. Moir, W. Scherer, "Quickly reacquirable locks", 2003.
class asymmetric_fence {
 public:
#if defined(CORACLE_MODEL)
  asymmetric_fence() noexcept {}
  [[nodiscard]] static bool is_free() noexcept { return true; }
  void light() const {}
  static void light_where_free() noexcept {}
  void heavy() const { testing::model::model_fence_everywhere(testing::model::site::current()); }
#else
  asymmetric_fence() noexcept : system_has_it_(is_registered()) {}
  /// The light one takes no instruction.
  [[nodiscard]] bool is_free() const noexcept { return system_has_it_; }
  /// Requires: is_free().
  static void light_where_free() noexcept { std::atomic_signal_fence(memory_order_seq_cst); }
  void light() const noexcept {
    if (system_has_it_) [[likely]] {
      light_where_free();
    } else {
      std::atomic_thread_fence(memory_order_seq_cst);
    }
  }
  CORACLE_COLD() void heavy() const noexcept {
    if (!system_has_it_) {
      std::atomic_thread_fence(memory_order_seq_cst);
    } else if (!is_done(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
      fail(
          "membarrier() has failed, though the system had granted it to this process: install a seccomp "
          "filter "
          "that refuses it before the first thread pool, forked child or spsc_channel, or let it pass");
    }
  }

 private:
  static bool is_done(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
  static bool is_registered() noexcept {
    static const bool registered = is_done(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    return registered;
  }

  const bool system_has_it_;
#endif
};
}  // namespace coracle::detail
