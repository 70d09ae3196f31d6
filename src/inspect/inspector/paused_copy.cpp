// SPDX-License-Identifier: MIT
#include "paused_copy.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "../process_memory.hpp"

namespace coracle::detail {
namespace {
/// What the child does. Another thread may have held any lock when it began, so it makes system calls only.
[[noreturn]] void stand_still(pid_t parent) noexcept {
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::syscall(SYS_getppid) != parent) ::syscall(SYS_exit_group, 0);  // it ended before that
  for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
}

/// Unlike fork(): runs no pthread_atfork() handler, shares the descriptors, so that none stays open in the
/// child, and has no signal sent at the child's end, which only a wait with __WALL sees.
pid_t copy_this_process() noexcept {
  const pid_t parent = ::getpid();
  const long child = ::syscall(SYS_clone, CLONE_FILES, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) stand_still(parent);
  return static_cast<pid_t>(child);
}
}  // namespace

paused_copy::paused_copy() noexcept : child_(copy_this_process()) {
  std::uint64_t word = 0;
  if (!exists()) return;
  const auto here = reinterpret_cast<std::uintptr_t>(&word);
  if (process_memory(child_).read(here, &word, sizeof word) != sizeof word) end();
}
paused_copy::~paused_copy() { end(); }

void paused_copy::end() noexcept {
  if (!exists()) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, __WALL);
  child_ = 0;
}
}  // namespace coracle::detail
