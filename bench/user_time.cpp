// bench/user_time.cpp -- the user time of a server over io_uring; to be preloaded. What the kernel reports
// comes from its tick, which finds some forty moments of user time in a run of two seconds.
// SPDX-License-Identifier: MIT
//
//     LD_PRELOAD=build/bench/bench/libbench_user_time.so build/bench/bench/bench_scenarios echo_io_uring
//
// Reads the clock before and after each call of recv(), of send() and of syscall(), by which the ring is
// entered. The time between two entries of the ring, without that inside calls, belongs to what the second
// one submits. Prints the mean of the middle half of these batches, for two operations: a receive and a send.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {
constexpr std::uint64_t warm_up = 20'000;  // operations
constexpr unsigned smallest_batch = 20;    // with fewer, the loop was about to sleep

double now() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

struct batch {
  double time;
  unsigned entries;
  [[nodiscard]] double each() const { return time / entries; }
};

/// Of the process that has entered a ring; others, such as its clients, print nothing.
class measurement {
 public:
  ~measurement() {
    if (batches_.empty()) return;
    std::sort(batches_.begin(), batches_.end(),
              [](const batch& one, const batch& other) { return one.each() < other.each(); });
    double time = 0, entries = 0;
    for (std::size_t i = batches_.size() / 4; i < batches_.size() * 3 / 4; ++i) {
      time += batches_[i].time;
      entries += batches_[i].entries;
    }
    if (entries != 0) std::fprintf(stderr, "user time: %.0f ns for two operations\n", 2 * time / entries);
  }
  void call_begins() { in_user_ += now() - call_ended_; }
  void ring_entered(unsigned entries) {
    submitted_ += entries;
    if (submitted_ > warm_up && entries >= smallest_batch) batches_.push_back({in_user_, entries});
    in_user_ = 0;
  }
  void call_ends() { call_ended_ = now(); }

 private:
  std::vector<batch> batches_;
  std::uint64_t submitted_ = 0;
  double in_user_ = 0, call_ended_ = 0;
};
measurement& its() {
  static thread_local measurement of_this_thread;
  return of_this_thread;
}

long measured(long number, long a, long b, long c, long d, long e, long f) {
  its().call_begins();
  if (number == SYS_io_uring_enter) its().ring_entered(static_cast<unsigned>(b));
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  its().call_ends();
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}
}  // namespace

extern "C" {
long syscall(long number, ...) noexcept {
  std::va_list rest;
  va_start(rest, number);
  long arguments[6];
  for (long& each : arguments) each = va_arg(rest, long);
  va_end(rest);
  return measured(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
ssize_t recv(int fd, void* to, std::size_t size, int flags) {
  return measured(SYS_recvfrom, fd, reinterpret_cast<long>(to), static_cast<long>(size), flags, 0, 0);
}
ssize_t send(int fd, const void* from, std::size_t size, int flags) {
  return measured(SYS_sendto, fd, reinterpret_cast<long>(from), static_cast<long>(size), flags, 0, 0);
}
}
