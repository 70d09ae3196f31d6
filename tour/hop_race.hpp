// tour/hop_race.hpp -- children that end on another thread: on which one does the parent go on?
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cmath>
#include <coracle/core/transfer.hpp>
#include <coroutine>
#include <cstdint>
#include <thread>

#include "clock.hpp"

namespace tour {
/// Where a thread looks for the one coroutine it is to resume next.
class mailbox {
 public:
  void post(std::coroutine_handle<> h) noexcept { posted_.store(h.address(), std::memory_order_release); }
  /// Resumes whatever is posted, until `done`.
  void serve(const std::atomic<bool>& done) {
    for (unsigned idle = 0; !done.load(std::memory_order_acquire); ++idle) {
      if (void* const h = posted_.exchange(nullptr, std::memory_order_acquire)) {
        coracle::resume(std::coroutine_handle<>::from_address(h));
        idle = 0;
      } else if (idle > 1000) {
        std::this_thread::yield();
      }
    }
  }

 private:
  std::atomic<void*> posted_{nullptr};
};

/// Continues on the thread of a mailbox. The posting thread stays behind for `linger` nanoseconds, as it
/// would to wake a thread or to leave a lock: the coroutine may be finished by then.
class hop {
 public:
  hop(mailbox& to, double linger) noexcept : to_(to), linger_(linger) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept {
    const double linger = linger_;
    to_.post(suspended);
    const stopwatch watch;
    while (watch.nanoseconds() < linger) std::this_thread::yield();
  }
  void await_resume() const noexcept {}

 private:
  mailbox& to_;
  double linger_;
};

/// Seconds. On a busy machine a hop may cost a time slice.
inline constexpr double longest_race = 0.75;

struct hop_counts {
  [[nodiscard]] std::uint64_t all() const { return on_the_childs_thread + on_the_old_thread; }
  std::uint64_t on_the_childs_thread = 0;
  std::uint64_t on_the_old_thread = 0;
};

struct hop_threads {
  mailbox main;
  mailbox other;
  std::atomic<bool> done{false};
  double longest_linger = 0;
  std::uint32_t random = 1;

  /// From a ten-thousandth of `longest_linger` up to it; each order of magnitude as often as the others,
  /// since nobody knows how long the other thread takes.
  double next_linger() {
    random = random * 1664525 + 1013904223;
    return longest_linger * std::pow(10000.0, static_cast<double>(random >> 8) / (1 << 24) - 1);
  }
};

template <class Task>
[[gnu::noinline]] Task ends_on_other_thread(hop_threads& threads, std::thread::id& ended_on) {
  co_await hop(threads.other, threads.next_linger());
  ended_on = std::this_thread::get_id();
  co_return std::uint64_t{1};
}

template <class Task>
Task count_hops(hop_threads& threads, std::uint64_t hops, hop_counts& counts) {
  std::uint64_t sum = 0;
  const stopwatch watch;
  for (std::uint64_t i = 0; i != hops && watch.seconds() < longest_race; ++i) {
    std::thread::id ended_on;
    sum += co_await ends_on_other_thread<Task>(threads, ended_on);
    const bool same = std::this_thread::get_id() == ended_on;
    ++(same ? counts.on_the_childs_thread : counts.on_the_old_thread);
    co_await hop(threads.main, 0);
  }
  threads.done.store(true, std::memory_order_release);
  co_return sum;
}

/// A coroutine that nobody waits for: starts `Task` and frees itself.
struct launched {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself {
    launched get_return_object() const noexcept { return {}; }
  };
};
template <class Task>
launched launch(Task task) {
  co_await std::move(task);
}

template <class Task>
hop_counts race_hops(std::uint64_t hops, double longest_linger) {
  hop_threads threads;
  threads.longest_linger = longest_linger;
  hop_counts counts;
  std::thread other([&threads] { threads.other.serve(threads.done); });
  launch(count_hops<Task>(threads, hops, counts));
  threads.main.serve(threads.done);
  other.join();
  return counts;
}
}  // namespace tour
