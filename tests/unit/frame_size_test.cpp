// tests/unit/frame_size_test.cpp -- the memory of a suspended task.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/time/sleep.hpp>

namespace {
/// Like a task<>, but never started; stores the size of its frame.
class weighed {
 public:
  struct promise_type : coracle::detail::task_promise<void> {
    weighed get_return_object() noexcept { return weighed{*this}; }
    static void* operator new(std::size_t size) { return ::operator new(last_size = size); }
    static void operator delete(void* frame) noexcept { ::operator delete(frame); }
  };
  weighed(const weighed&) = delete;
  weighed& operator=(const weighed&) = delete;
  ~weighed() { body_.destroy(); }

  const std::size_t size = last_size;

 private:
  explicit weighed(promise_type& promise) noexcept
      : body_(std::coroutine_handle<promise_type>::from_promise(promise)) {}

  static inline std::size_t last_size = 0;
  const std::coroutine_handle<> body_;
};

weighed wait_for_nothing() { co_return; }
coracle::task<long> answer(long n) { co_return n; }
weighed wait_for_tasks(long n) {
  static_cast<void>(co_await answer(n));
  static_cast<void>(co_await answer(n));
}
weighed wait_for_event(coracle::async_manual_reset_event& event) { co_await event; }
weighed wait_for_mutex(coracle::async_mutex& mutex) { co_await mutex.lock_async(); }
weighed wait_for_element(coracle::channel<int>& from) { static_cast<void>(co_await from.recv()); }
weighed wait_for_time() { co_await coracle::sleep_for(std::chrono::seconds(1)); }

#if defined(__OPTIMIZE__) && defined(NDEBUG) && !CORACLE_ADDRESS_SANITIZER()
constexpr bool is_final = true;
#else
constexpr bool is_final = false;
#endif
#if defined(__clang__)
constexpr bool is_clang = true;
#else
constexpr bool is_clang = false;
#endif

// The recycler's size classes hold frames of at most 104, 120, 136, ... bytes: one more byte costs 16.
TEST_CASE("frame: a task that waits is no larger than it was" *
          doctest::skip(!is_final || sizeof(void*) != 8)) {
  coracle::async_manual_reset_event event;
  coracle::async_mutex mutex;
  coracle::channel<int> numbers{1};
  CHECK(wait_for_nothing().size <= (is_clang ? 40 : 48));
  CHECK(wait_for_tasks(1).size <= (is_clang ? 56 : 96));
  CHECK(wait_for_event(event).size <= (is_clang ? 120 : 136));
  CHECK(wait_for_mutex(mutex).size <= (is_clang ? 160 : 184));
  CHECK(wait_for_element(numbers).size <= (is_clang ? 128 : 160));
  CHECK(wait_for_time().size <= (is_clang ? 144 : 176));
}
}  // namespace
