// SPDX-License-Identifier: MIT
#include <coracle/detail/asymmetric_fence.hpp>

#if !defined(CORACLE_MODEL)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace coracle::detail {
namespace {
bool is_done(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
}  // namespace

asymmetric_fence::asymmetric_fence() noexcept
    : system_has_it_(is_done(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {}

void asymmetric_fence::heavy() const noexcept {
  if (!system_has_it_ || !is_done(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    std::atomic_thread_fence(memory_order_seq_cst);
  }
}
}  // namespace coracle::detail
#endif
