// SPDX-License-Identifier: MIT
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coracle/detail/small_mutex.hpp>
#include <coracle/exec/timer_queue.hpp>
#include <coracle/exec/timer_thread.hpp>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <new>

namespace coracle::detail {
namespace {
using clock = std::chrono::steady_clock;

/// Sleeps while `word` holds `expected`, until `end` at the longest; may return early.
void park_until(atomic<std::uint32_t>& word, std::uint32_t expected, clock::time_point end) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t since = std::chrono::nanoseconds(end.time_since_epoch()).count();
  timespec when{};
  when.tv_sec = static_cast<std::time_t>(since / second);
  when.tv_nsec = static_cast<long>(since % second);
  const timespec* const limit = end == clock::time_point::max() ? nullptr : &when;
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
}

/// A thread that sleeps until the next deadline.
class timer_thread final : public timer_service {
 public:
  time_point now() noexcept override { return clock::now(); }
  bool add(timer& each, time_point deadline) noexcept override;
  bool remove(timer& each) noexcept override {
    const small_mutex_lock lock{mutex_};
    return queue_.remove(each);
  }

 private:
  void start() noexcept;
  void create_thread() noexcept;
  void end() noexcept;
  void run() noexcept;

  // mutex_ guards all below; what stands last, life_. The thread sleeps while wakes_ is what it was when it
  // left mutex_. After that and its wake-up, nobody touches a timer that was added, and this object is never
  // destroyed: coroutines and static destructors may use it at any time.
  //   [W1] one more   relaxed  under mutex_, which the thread takes next
  //   [W2] load       relaxed  under mutex_
  small_mutex mutex_;
  atomic<std::uint32_t> wakes_{0};
  plain<time_point> sleeps_until_ = time_point::min();  // min(): it is awake, and will look
  plain<bool> running_ = false, ending_ = false;
  timer_queue queue_{clock::now()};

  small_mutex life_;  // held while the thread is started, or ends
  pthread_t thread_{};
};

timer_thread& the_timer_thread() noexcept {
  alignas(timer_thread) static std::byte memory[sizeof(timer_thread)];
  // The child that fork() makes has no such thread, and none of its coroutines is to go on.
  static timer_thread& only = []() -> timer_thread& {
    ::pthread_atfork(nullptr, nullptr, [] { ::new (memory) timer_thread; });
    return *::new (memory) timer_thread;
  }();
  return only;
}

bool timer_thread::add(timer& each, time_point deadline) noexcept {
  bool runs, wakes;
  {
    const small_mutex_lock lock{mutex_};
    if (!queue_.add(each, deadline)) return false;
    runs = running_;
    wakes = deadline < sleeps_until_;
    if (wakes) {
      sleeps_until_ = deadline;
      wakes_.fetch_add(1, memory_order_relaxed); /*W1*/
    }
  }
  if (!runs) start();
  if (wakes) unpark(&wakes_, 1);
  return true;
}

void timer_thread::start() noexcept {
  const small_mutex_lock alone{life_};
  {
    const small_mutex_lock lock{mutex_};
    if (std::exchange(running_, true)) return;
  }
  create_thread();
  std::atexit([] { the_timer_thread().end(); });
}

/// No signal handler of the program runs on the thread.
void timer_thread::create_thread() noexcept {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto body = [](void*) -> void* {
    the_timer_thread().run();
    return nullptr;
  };
  const bool created = ::pthread_create(&thread_, nullptr, body, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!created) fail("the thread of the timers cannot be started");
}

/// As the program ends. Where somebody still sleeps, whom a static destructor may wait for, the thread stays.
void timer_thread::end() noexcept {
  const small_mutex_lock alone{life_};
  if (::pthread_equal(thread_, ::pthread_self())) return;
  {
    const small_mutex_lock lock{mutex_};
    if (!running_ || !queue_.empty()) return;
    ending_ = true;
    wakes_.fetch_add(1, memory_order_relaxed); /*W1*/
  }
  unpark(&wakes_, 1);
  ::pthread_join(thread_, nullptr);
  {
    const small_mutex_lock lock{mutex_};
    ending_ = false;
    running_ = !queue_.empty();
    if (!running_) return;
  }
  create_thread();
}

void timer_thread::run() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  for (;;) {
    timer_batch due;
    bool some;
    time_point next;
    std::uint32_t seen;
    {
      const small_mutex_lock lock{mutex_};
      if (ending_) return;
      some = due.take(queue_, now());
      sleeps_until_ = some ? time_point::min() : queue_.next();
      next = sleeps_until_;
      seen = wakes_.load(memory_order_relaxed); /*W2*/
    }
    if (some) {
      due.fire();
    } else {
      park_until(wakes_, seen, next);
    }
  }
}
}  // namespace

timer_service& program_timers() noexcept { return the_timer_thread(); }
}  // namespace coracle::detail
