// tests/fuzz/locks.cpp -- async_semaphore and async_mutex against a count and a FIFO queue.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <deque>

#include "parties.hpp"

namespace {
using coracle_test::fuzz_input;
using coracle_test::must;

enum class end { acquired, cancelled };
using party = coracle_test::party<end>;

/// A mutex is a semaphore with one permit that only its holder releases. Another coroutine may take a lock or
/// a permit between its release and the resumption of the woken waiter (ADR 28). Here each woken waiter runs
/// immediately, so the order is that of arrival. The models and the unit tests check the other case.
struct mutex {
  explicit mutex(int) {}
  static constexpr bool is_exclusive = true;
  static int permits_of(fuzz_input&) { return 1; }
  auto acquire() { return its.lock_async(); }
  bool try_acquire() { return its.try_lock(); }
  void release(int) { its.unlock(); }
  coracle::async_mutex its;
};
struct semaphore {
  explicit semaphore(int permits) : its(permits) {}
  static constexpr bool is_exclusive = false;
  static int permits_of(fuzz_input& input) { return static_cast<int>(input.below(4)); }
  auto acquire() { return its.acquire(); }
  bool try_acquire() { return its.try_acquire(); }
  void release(int permits) { its.release(permits); }
  coracle::async_semaphore its;
};

struct model {
  int free;
  std::deque<party*> waiting{};

  bool try_acquire() {
    if (free == 0) return false;
    --free;
    return true;
  }
  void release(int permits) {
    for (free += permits; free != 0 && !waiting.empty(); --free) {
      waiting.front()->expected = end::acquired;
      waiting.pop_front();
    }
  }
  void stop(party& one) {
    if (one.expected) return;
    one.expected = end::cancelled;
    std::erase(waiting, &one);
  }
};

template <class Lock>
coracle::task<end> acquire(Lock& lock) {
  end how = end::cancelled;
  try {
    co_await lock.acquire();
    how = end::acquired;
  } catch (const coracle::operation_cancelled&) {
  }
  co_return how;
}

template <class Lock>
class game {
 public:
  explicit game(int permits) : lock_(permits), model_{permits} {}

  void play(fuzz_input& input) {
    while (!input.empty() && parties_.has_room()) {
      move(input);
      parties_.settle();
    }
    while (!model_.waiting.empty()) release(1);
    parties_.check_all();
    while (model_.try_acquire()) must(lock_.try_acquire(), "a permit is lost");
    must(!lock_.try_acquire(), "a permit too many");
    if (Lock::is_exclusive) lock_.release(1);
  }

 private:
  void move(fuzz_input& input) {
    switch (input.below(6)) {
      case 0:
      case 1: {
        party& one = parties_.start(acquire(lock_));
        if (model_.try_acquire()) {
          one.expected = end::acquired;
        } else {
          model_.waiting.push_back(&one);
        }
        break;
      }
      case 2:
        must(lock_.try_acquire() == model_.try_acquire(), "try_acquire()");
        break;
      case 3:
        if (!Lock::is_exclusive || model_.free == 0) release(Lock::permits_of(input));
        break;
      case 4:
        if (party* const one = parties_.stop_one(input)) model_.stop(*one);
        break;
      default:
        parties_.run_one(input.below(64));
    }
  }
  void release(int permits) {
    lock_.release(permits);
    model_.release(permits);
    parties_.settle();
  }

  Lock lock_;
  model model_;
  coracle_test::parties<end> parties_;
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input input{data, size};
  if (input.below(2) == 0) {
    game<mutex>{1}.play(input);
  } else {
    game<semaphore>{static_cast<int>(input.below(4))}.play(input);
  }
  return 0;
}
