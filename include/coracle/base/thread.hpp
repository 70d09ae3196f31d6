// coracle/base/thread.hpp -- the seam through which the schedulers reach threads, locks and the clock.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/base/park.hpp>

#if defined(CORACLE_MODEL)
#include <coracle/base/small_mutex.hpp>
#include <coracle/testing/model/detail/sync.hpp>
#else
#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#endif

// These are the system's; in a program compiled for the model checker, the checker's (see base/atomic.hpp).
// For src/ only: it costs as much as <mutex>.
namespace coracle::detail {
using steady_time = std::chrono::steady_clock::time_point;

#if defined(CORACLE_MODEL)
using mutex = small_mutex;
using condition_variable = testing::model::model_condition_variable<mutex>;
using thread_handle = unsigned;

inline int start_thread(thread_handle& started, void* (*body)(void*), void* argument) noexcept {
  started = testing::model::model_start_thread(body, argument);
  return 0;
}
inline int start_quiet_thread(thread_handle& started, void* (*body)(void*), void* argument) noexcept {
  return start_thread(started, body, argument);
}
inline void join_thread(thread_handle other) noexcept { testing::model::model_join_thread(other); }
inline void detach_this_thread() noexcept {}
inline thread_handle this_thread_handle() noexcept { return testing::model::model_this_thread(); }
inline void name_this_thread(const char*) noexcept {}
inline steady_time real_now() noexcept {
  return steady_time{std::chrono::nanoseconds{testing::model::model_now()}};
}
inline void park_until(atomic<std::uint32_t>& word, std::uint32_t expected, steady_time end,
                       std::source_location where = std::source_location::current()) noexcept {
  if (end != steady_time::max()) testing::model::model_set_deadline(end.time_since_epoch().count());
  model_park(word, expected, end != steady_time::max(), where);
}
#else
using std::condition_variable;
using std::mutex;
using thread_handle = pthread_t;

/// Unlike std::thread, neither allocates nor throws. Returns 0 or the error number.
[[nodiscard]] inline int start_thread(thread_handle& started, void* (*body)(void*), void* argument) noexcept {
  return ::pthread_create(&started, nullptr, body, argument);
}
/// The same with all signals blocked, so that no signal handler of the program runs on the thread.
[[nodiscard]] inline int start_quiet_thread(thread_handle& started, void* (*body)(void*),
                                            void* argument) noexcept {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = start_thread(started, body, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}
inline void join_thread(thread_handle other) noexcept { ::pthread_join(other, nullptr); }
inline void detach_this_thread() noexcept { ::pthread_detach(::pthread_self()); }
inline thread_handle this_thread_handle() noexcept { return ::pthread_self(); }
/// For `top -H` and debuggers. `name`: at most 15 characters.
inline void name_this_thread(const char* name) noexcept { ::pthread_setname_np(::pthread_self(), name); }
inline steady_time real_now() noexcept { return std::chrono::steady_clock::now(); }

/// Sleeps while `word` holds `expected`, at most until `end` (max(): no limit); may return early.
inline void park_until(atomic<std::uint32_t>& word, std::uint32_t expected, steady_time end) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  const std::chrono::nanoseconds since = end.time_since_epoch();
  timespec when{};
  when.tv_sec = since.count() / second;
  when.tv_nsec = since.count() % second;
  const timespec* const limit = end == steady_time::max() ? nullptr : &when;
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
}
#endif
}  // namespace coracle::detail
