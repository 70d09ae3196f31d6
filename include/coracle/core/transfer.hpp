// coracle/core/transfer.hpp -- continue another coroutine with a constant stack, in every build.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/thread_state.hpp>
#include <coroutine>
#include <cstdint>
#include <utility>

namespace coracle {
namespace detail {
inline std::coroutine_handle<> take_next(thread_state& thread) noexcept {
  const std::coroutine_handle<> next = thread.next;
  thread.next = nullptr;
  return next;
}
/// While it exists, a handle left in the thread's `next` slot is run by the caller of drain().
struct drain_scope {
  thread_state& thread;
  bool outer;

  explicit drain_scope(thread_state& of) noexcept : thread(of), outer(of.draining) { of.draining = true; }
  ~drain_scope() { thread.draining = outer; }

  /// Runs `h`, then each handle that it and its successors leave in the slot.
  CORACLE_ALWAYS_INLINE() void drain(std::coroutine_handle<> h) const {
    do {
      h.resume();
      if (!thread.next) [[likely]]
        return;
      h = take_next(thread);
    } while (true);
  }
};
inline void drain(std::coroutine_handle<> h) {
  const drain_scope entered{this_thread()};
  entered.drain(h);
}

/// Runs `h` as soon as the caller has returned to the drain loop, which it is about to do; runs it at once
/// where there is no such loop.
inline void resume_on_return(std::coroutine_handle<> h) {
  thread_state& thread = this_thread();
  if (!thread.draining) return drain(h);
  // The slot is occupied if foreign code resumed the caller by h.resume() inside a running coroutine.
  if (thread.next) drain(take_next(thread));
  thread.next = h;
}
}  // namespace detail

/// Resumes a coroutine from plain code: a scheduler, an event or a test calls it instead of `h.resume()`.
/// Returns when the coroutine, and every coroutine that it transferred to, has suspended or finished.
/// Threads     the caller's; no other thread may resume or destroy `h` meanwhile.
/// Exceptions  those that leave the coroutine's own promise.
inline void resume(std::coroutine_handle<> h) { detail::drain(h); }

/// An await_suspend returns this to suspend the running coroutine and continue `target` instead.
///
///     std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
///       return coracle::transfer_to(child_);
///     }
///
/// With tail calls it is the handle itself. Without them (g++ at -O0, under ASan or TSan) it leaves the
/// handle to the drain loop at the bottom of the stack, and starts that loop if there is none. An inline
/// function that returns its result carries CORACLE_TRANSFER_ABI() if the program mixes optimised and
/// unoptimised units.
CORACLE_INLINE_TRANSFER() std::coroutine_handle<> transfer_to(std::coroutine_handle<> target) noexcept {
  if constexpr (CORACLE_TAIL_TRANSFER()) {
    return target;
  } else {
    detail::resume_on_return(target);
    return std::noop_coroutine();
  }
}

namespace detail {
/// Calls the function at the beginning of a frame. The function has no type that C++ can name, so UBSan's
/// check of its type against the pointer's does not apply.
template <class Frame>
CORACLE_CALLS_WITHOUT_TYPE()
inline void resume_frame(Frame* frame) {
  CORACLE_HIDES_RESUMED(frame);
  CORACLE_MUST_TAIL()
  return (*static_cast<void (**)(Frame*)>(static_cast<void*>(frame)))(frame);
}
}  // namespace detail
}  // namespace coracle

// The last statement of a function that stands for the body of a coroutine (core/detail/callback_frame.hpp):
// has `h` resumed with the stack no deeper. `h` is a result of transfer_to(), so the function may choose
// between several.
#if CORACLE_TAIL_TRANSFER()
#define CORACLE_RETURN_TO(self, h) \
  CORACLE_MUST_TAIL()              \
  return ::coracle::detail::resume_frame(static_cast<decltype(self)>((h).address()))
#else
#define CORACLE_RETURN_TO(self, h) return static_cast<void>(h)
#endif

#if CORACLE_TAIL_CALLS_BY_FLAG()
// g++ -O1 and -Og make no tail calls by default, and no macro reports it: each unit has a coroutine of its
// own transfer to itself, and compares stack addresses.
namespace coracle::detail {
namespace {
struct tail_call_probe {
  struct promise_type {
    promise_type() noexcept = default;
    static void* operator new(std::size_t size) noexcept { return __builtin_malloc(size); }
    static void operator delete(void* frame) noexcept { __builtin_free(frame); }
    static tail_call_probe get_return_object_on_allocation_failure() noexcept { return {}; }
    tail_call_probe get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };
};
struct transfer_to_itself {
  explicit transfer_to_itself(std::uintptr_t& position) noexcept : position_(position) {}
  bool await_ready() const noexcept { return false; }
  [[gnu::noinline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) const noexcept {
    char here = 0;
    asm volatile("" : : "r"(&here) : "memory");
    position_ = address_of(&here);
    return self;
  }
  void await_resume() const noexcept {}

 private:
  std::uintptr_t& position_;
};
inline constexpr int probed_transfers = 32;
tail_call_probe probe_tail_calls(std::uintptr_t& first, std::uintptr_t& last) {
  co_await transfer_to_itself{first};
  for (int i = 0; i != probed_transfers; ++i) co_await transfer_to_itself{last};
}
struct tail_call_check {
  tail_call_check() noexcept {
    std::uintptr_t first = 0, last = 0;
    probe_tail_calls(first, last);
    if (first - last < probed_transfers * sizeof(void*)) return;
    std::fputs(
        "coracle: a file of this program was compiled without tail calls, so its awaits would use up the "
        "stack: compile it with -foptimize-sibling-calls (pkg-config and, except in Debug, the CMake target "
        "give it), or -O2\n",
        stderr);
    __builtin__Exit(1);
  }
} const checked_tail_calls;
}  // namespace
}  // namespace coracle::detail
#endif
