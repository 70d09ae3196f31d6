// coracle/base/asymmetric_fence.hpp -- a pair of fences, the frequent one of which is free.
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
/// Two threads each write one word, execute a fence and read the other's word. If one fence is light and the
/// other heavy, at least one thread sees what the other wrote. The light fence only prevents compiler
/// reordering; the heavy one makes the kernel run a full fence on every thread of this process. Without
/// kernel support both are full fences. A heavy fence that is refused after support was granted, as by a
/// seccomp filter, ends the program: other threads have already executed light fences, which order nothing by
/// themselves.
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
  /// Returns true if the light fence emits no instruction.
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
          "membarrier() failed after the kernel had granted it to this process: install a seccomp filter "
          "that refuses it before the first thread pool, spsc_channel or socket, or allow it");
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
