// SPDX-License-Identifier: MIT
#include "spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string>

#include "path_in_message.hpp"
#include "system_error.hpp"

// clone(), under a name that ThreadSanitizer does not intercept: it treats the child as that of a fork().
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

/// The child runs in the memory of its parent, so sanitizer instrumentation in it would affect the parent.
#if __has_cpp_attribute(clang::disable_sanitizer_instrumentation)
#define CORACLE_IN_CHILD() [[clang::disable_sanitizer_instrumentation]]
#else
#define CORACLE_IN_CHILD() [[gnu::no_sanitize("address", "thread", "undefined")]]
#endif

namespace coracle::detail {
namespace {
constexpr std::size_t size_of_signals = 8;  // of the kernel's sigset_t
constexpr int signals = 64;

/// The kernel's structure. All zero: the default action.
struct kernel_sigaction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

// The child makes system calls by syscall() only: other functions might be instrumented or not safe in a
// child.

CORACLE_IN_CHILD()
long move_away(child_descriptor& its, int base) noexcept {
  const long moved = ::syscall(SYS_fcntl, its.source, F_DUPFD_CLOEXEC, base);
  its.moved = static_cast<int>(moved);
  return its.may_be_closed && moved < 0 && errno == EBADF ? 0 : moved;
}
/// Moves all descriptors away from their final numbers first, because one may be the source of another.
CORACLE_IN_CHILD()
long place_descriptors(child_plan& its) noexcept {
  const int base = its.descriptors.back().number + 1;
  for (child_descriptor& each : its.descriptors) {
    if (move_away(each, base) < 0) return -1;
  }
  unsigned next = 0;  // all lower numbers are done
  for (child_descriptor& each : its.descriptors) {
    const auto number = static_cast<unsigned>(each.number);
    if (next < number && ::syscall(SYS_close_range, next, number - 1, 0) < 0) return -1;
    if (each.moved < 0) {
      ::syscall(SYS_close, each.number);
    } else if (::syscall(SYS_dup3, each.moved, each.number, 0) < 0) {
      return -1;
    }
    next = number + 1;
  }
  return ::syscall(SYS_close_range, next, UINT_MAX, 0);
}

CORACLE_IN_CHILD()
long set_limits(const child_plan& its) noexcept {
  for (const auto& [resource, most] : its.limits) {
    const std::uint64_t both[2] = {most, most};
    if (::syscall(SYS_prlimit64, 0, resource, both, nullptr) < 0) return -1;
  }
  return 0;
}

/// Until execve() the child shares the parent's handlers, none of which may run in it.
CORACLE_IN_CHILD()
void reset_signals() noexcept {
  const kernel_sigaction by_default{};
  for (int number = 1; number <= signals; ++number) {
    ::syscall(SYS_rt_sigaction, number, &by_default, nullptr, size_of_signals);
  }
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, size_of_signals);
}

/// Returns only on failure. Like execvp(), skips candidates that may not be executed.
CORACLE_IN_CHILD()
void execute(child_plan& its) noexcept {
  int error = ENOENT;
  for (const char* const each : its.programs) {
    ::syscall(SYS_execve, each, its.arguments, its.environment);
    if (errno == ENOENT || errno == ENOTDIR) continue;
    error = errno;
    if (error != EACCES) break;
  }
  errno = error;
}

/// Returns what failed, for an error message that continues with failed_path or the program's name, and sets
/// errno.
CORACLE_IN_CHILD()
const char* become(child_plan& its) noexcept {
  if (its.group == command::group::session && ::syscall(SYS_setsid) < 0) return "begin a session for ";
  if (its.group == command::group::own && ::syscall(SYS_setpgid, 0, 0) < 0)
    return "form a process group for ";
  if (place_descriptors(its) < 0) return "set up the descriptors for ";
  if (its.folder && ::syscall(SYS_chdir, its.folder) < 0) {
    its.failed_path = its.folder;
    return "enter ";
  }
  if (set_limits(its) < 0) return "set a limit for ";
  reset_signals();
  execute(its);
  return "run ";
}

CORACLE_IN_CHILD()
int child_main(void* argument) noexcept {
  auto& its = *static_cast<child_plan*>(argument);
  its.failed_step = become(its);
  its.error = errno;
  constexpr int not_run = 127;
  return not_run;  // which ends the child
}

/// While it lives, no signal is handled on this thread, nor in a child, which inherits the mask.
class all_signals_blocked {
 public:
  all_signals_blocked() noexcept {
    const std::uint64_t all = ~std::uint64_t{0};
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, size_of_signals);
  }
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;
  ~all_signals_blocked() { ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, size_of_signals); }

 private:
  std::uint64_t before_ = 0;
};

/// Returns the child's id, or -errno. This thread continues when the child has executed a program or ended.
int clone_child(child_plan& plan, int& handle) noexcept {
  constexpr std::size_t enough = 16 * 1024;
  alignas(16) std::byte stack[enough];
  const all_signals_blocked meanwhile;
  const int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
  const int id = ::__clone(&child_main, stack + enough, flags, &plan, &handle);
  return id < 0 ? -errno : id;
}
}  // namespace

spawned spawn(child_plan& plan) {
  int handle = -1;
  const std::string program = path_in_message(plan.arguments[0]);
  const int id = clone_child(plan, handle);
  if (id < 0) throw_error(-id, "cannot start a process for " + program);
  spawned child{owned_descriptor{handle}, id};
  if (!plan.failed_step) return child;
  siginfo_t ended{};
  while (::waitid(P_PIDFD, static_cast<id_t>(handle), &ended, WEXITED) != 0 && errno == EINTR) {
  }
  const std::string path = plan.failed_path ? std::string{plan.failed_path} + " for " : "";
  throw_error(plan.error, "cannot " + std::string{plan.failed_step} + path + program);
}
}  // namespace coracle::detail
