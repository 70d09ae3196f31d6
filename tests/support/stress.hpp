// tests/support/stress.hpp -- the frame of a stress program: its count, its checks, its one line, its
// watchdog.
// SPDX-License-Identifier: MIT
#pragma once
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace coracle_test {
/// The time limit of side_by_side().
inline std::chrono::seconds side_by_side_time{2};

/// A stress program: `program [count]`, or `program x8` for eight times its usual count; without an argument
/// that count, or a quarter of it under ThreadSanitizer. Prints one line;
/// fails if a count is wrong or if it hangs.
///
///     coracle_test::stress run("mutex", argc, argv, 100'000);
///     run.expect("increments", counter, 4 * run.count());
///     return run.finish();
class stress {
 public:
  stress(const char* name, int argc, char** argv, unsigned default_count)
      : name_(name), count_(argc > 1 ? read_count(argv[1], default_count) : default_count / divisor) {
    if (count_ == 0 || count_ > most) {
      std::fprintf(stderr, "usage: %s [count | x times %u], at most %u\n", name, default_count, most);
      std::exit(2);
    }
    const unsigned times = std::max(1u, count_ / default_count);
    side_by_side_time *= times;
    std::signal(SIGALRM, &hangs);
    ::alarm(60 * times);
  }
  stress(const stress&) = delete;
  stress& operator=(const stress&) = delete;

  [[nodiscard]] unsigned count() const noexcept { return count_; }
  [[nodiscard]] int int_count() const noexcept { return static_cast<int>(count_); }
  template <class Found, class Wanted>
  void expect(const char* what, Found found, Wanted wanted) {
    const auto got = static_cast<long long>(found), right = static_cast<long long>(wanted);
    line_ += " " + std::to_string(got) + " " + what;
    if (got != right) {
      line_ += " (WRONG: " + std::to_string(right) + " wanted)";
      failed_ = true;
    }
    line_ += ",";
  }
  /// Returns the exit status for main().
  [[nodiscard]] int finish() {
    line_.pop_back();
    std::printf("%s:%s%s\n", name_, line_.c_str(), failed_ ? "  FAILED" : "");
    return failed_ ? 1 : 0;
  }

 private:
  static constexpr unsigned most = 1'000'000'000;  // also as an int
  // ThreadSanitizer takes ten times as long, and sees a race also where it has no effect.
#if defined(__SANITIZE_THREAD__)
  static constexpr unsigned divisor = 4;
#else
  static constexpr unsigned divisor = 1;
#endif

  static unsigned read_count(const char* text, unsigned default_count) {
    const bool times = *text == 'x';
    const auto number = std::strtoull(text + (times ? 1 : 0), nullptr, 10);
    const auto count = times ? number * default_count : number;
    return number <= most && count <= most ? static_cast<unsigned>(count) : 0;
  }
  static void hangs(int) {
    constexpr char message[] = "FAILED: hangs, the watchdog's time is over\n";
    static_cast<void>(!::write(STDERR_FILENO, message, sizeof message - 1));
    std::_Exit(1);
  }

  const char* name_;
  unsigned count_;
  std::string line_;
  bool failed_ = false;
};

/// Spins for about one nanosecond per iteration.
inline void hold_up(int turns) {
  for (volatile int left = turns; left > 0;) left = left - 1;
}

/// Moves this thread to one of the processors that it may use, the same for the same number; the system may
/// move it on. It leaves two threads that spin and sleep in turn on one processor.
inline void move_to_processor(int number) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int skipped = number % CPU_COUNT(&allowed);
  for (unsigned at = 0; at != CPU_SETSIZE; ++at) {
    if (!CPU_ISSET(at, &allowed) || skipped-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(at, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ::sched_setaffinity(0, sizeof allowed, &allowed);
}

/// Calls `first(i)` and `second(i)` at the same time on two threads, for i = 0, 1, 2 ... One of them is
/// delayed by an amount that changes from call to call, so that every line of one races with every line of
/// the other. Ends after `most` rounds, or on a busy machine after side_by_side_time. Returns the number of
/// rounds.
template <class First, class Second>
int side_by_side(int most, First first, Second second) {
  const auto end = std::chrono::steady_clock::now() + side_by_side_time;
  std::atomic<int> rounds{-1};  // published before the round begins
  std::atomic<int> arrived[2] = {};
  const auto run = [&](int me, auto& each) {
    for (int i = 0;; ++i) {
      if (me == 0 && (i == most || (i % 64 == 0 && std::chrono::steady_clock::now() > end))) rounds = i;
      arrived[me].store(i + 1, std::memory_order_release);
      for (int spins = 0; arrived[1 - me].load(std::memory_order_acquire) <= i; ++spins) {
        if (spins > 1000) std::this_thread::yield();
      }
      if (rounds == i) return;
      const int lead = i % 128 - 64;
      hold_up(me == 0 ? lead : -lead);
      each(i);
    }
  };
  std::thread other([&] { run(1, second); });
  run(0, first);
  other.join();
  return rounds;
}

/// Calls `post(i)`, waits until that has set `answered` to i + 1, and posts again after a delay of at most
/// `longest` iterations that changes from call to call. So posts hit every step of the other side's way to
/// sleep; if a wake-up is lost, this never returns.
template <class Post>
void post_one_by_one(int posts, int longest, const std::atomic<int>& answered, Post post) {
  for (int i = 0; i != posts; ++i) {
    post(i);
    for (int spins = 0; answered.load(std::memory_order_acquire) <= i; ++spins) {
      if (spins > 1000) std::this_thread::yield();
    }
    hold_up(static_cast<int>(7919LL * i % longest));
  }
}
}  // namespace coracle_test
