// tests/probes/membarrier_refused.cpp -- the schedulers where a seccomp filter refuses membarrier(2), as in
// some containers.
// SPDX-License-Identifier: MIT
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <coracle/base/asymmetric_fence.hpp>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "../support/abort_message.hpp"
#include "../support/expect.hpp"

// Each scenario runs in a process of its own, which has not asked the system for membarrier() before. Only
// the sets of instructions of the processors matter that coracle is tested on, so the filter does not look at
// the architecture.
namespace {
using coracle::static_thread_pool;
using coracle::task;
using coracle::detail::asymmetric_fence;
using coracle_test::expect;

/// False: the system does not let this process filter its own calls.
bool refuse_membarrier() {
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(sizeof steps / sizeof *steps), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}
void refuse_or_leave() {
  if (!refuse_membarrier()) std::_Exit(77);
}
bool is_refused_here() {
  coracle_test::child_process child{refuse_or_leave};
  return child.wait() == 0;
}
/// Of a child process: it has ended well.
bool ends_well(void (*body)()) {
  coracle_test::child_process child{body};
  const std::string written = child.read_until('\0');
  std::fputs(written.c_str(), stdout);
  return child.wait() == 0;
}

task<long> fibonacci(int n) {
  if (n < 2) co_return n;
  const auto both = co_await coracle::fork_join(fibonacci(n - 1), fibonacci(n - 2));
  co_return std::get<0>(both) + std::get<1>(both);
}
task<> send_all(coracle::spsc_channel<int>& to, int count) {
  for (int i = 0; i != count; ++i) co_await to.send(i);
}
task<long> receive_all(coracle::spsc_channel<int>& from, int count) {
  long sum = 0;
  for (int i = 0; i != count; ++i) sum += (co_await from.recv()).value();
  co_return sum;
}

/// Continuations are stolen, and the two ends of a channel meet, with full fences on both sides.
void works_without() {
  refuse_or_leave();
  if (asymmetric_fence{}.is_free()) std::_Exit(1);
  static_thread_pool pool{3};
  for (int round = 0; round != 20; ++round) {
    if (coracle::sync_wait(coracle::schedule_on(fibonacci(16), pool)) != 987) std::_Exit(2);
  }
  constexpr int count = 20'000;
  coracle::spsc_channel<int> channel{4};
  auto sender = coracle::schedule_on(send_all(channel, count), pool);
  auto receiver = coracle::schedule_on(receive_all(channel, count), pool);
  const auto results = coracle::sync_wait(coracle::when_all(std::move(receiver), std::move(sender)));
  if (std::get<0>(results) != long{count} * (count - 1) / 2) std::_Exit(3);
}
/// The system had it when the first fence was made.
void is_refused_later() {
  const asymmetric_fence fence;
  if (!fence.is_free()) std::_Exit(77);
  fence.heavy();
  refuse_or_leave();
  fence.heavy();
}
/// What the parent of a fork() has registered holds for its child.
void is_forked_later() {
  const asymmetric_fence fence;
  fence.heavy();
  if (!ends_well([] { asymmetric_fence{}.heavy(); })) std::_Exit(1);
}
}  // namespace

int main() {
  if (!is_refused_here()) {
    std::puts("left out: the system lets no process filter its own calls");
    return 0;
  }
  expect(ends_well(works_without), "a pool and a channel work without membarrier()");
  const std::string message = coracle_test::abort_message(is_refused_later);
  const bool system_lacks_it = message == "not aborted, wait status " + std::to_string(77 << 8);
  expect(system_lacks_it || message.starts_with("coracle: membarrier() failed"),
         "membarrier() that is refused after it was granted ends the program with a message");
  expect(ends_well(is_forked_later), "a forked process may pass heavy fences");
  return coracle_test::exit_status("the schedulers work where membarrier() is refused");
}
