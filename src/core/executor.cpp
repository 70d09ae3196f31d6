// src/core/executor.cpp -- wake-ups outside any executor, on a bounded stack, and on one that is gone.
// SPDX-License-Identifier: MIT
#include <coracle/core/executor.hpp>
#include <new>

namespace coracle::detail {
bool give_way(resumption& self) noexcept {
  this_thread().budget.renew();
  executor* const here = current_executor();
  if (here) here->post(self);
  return here != nullptr;
}

void put_off(late_resumptions& late, resumption& item) noexcept {
  item.next = nullptr;
  if (late.first) {
    late.last->next = &item;
  } else {
    late.first = &item;
  }
  late.last = &item;
}

void run_late_wakeups_now(thread_state& thread) noexcept {
  const executor_scope outside{nullptr};
  while (resumption* late = thread.late_wakes.first) {
    thread.late_wakes.first = late->next;
    resume(late->handle);
  }
}

namespace {
/// For a wake-up at the maximum depth.
CORACLE_COLD() void wake_later(resumption& item) noexcept {
  thread_state& thread = this_thread();
  thread.wakes_left = 0;
  put_off(thread.late_wakes, item);
}

CORACLE_NOINLINE() void resume_outside(std::coroutine_handle<> suspended) noexcept {
  const executor_scope outside{nullptr};
  resume(suspended);
}

/// Runs what a coroutine that was resumed here has left for this thread to run.
CORACLE_NOINLINE() void run_what_is_left() noexcept {
  thread_state& thread = this_thread();
  if (const std::coroutine_handle<> next = std::exchange(thread.next, nullptr)) resume_outside(next);
  run_late_wakeups(thread);
}
}  // namespace

void resume_here(resumption& item) noexcept {
  if (this_thread().wakes_left-- == 0) [[unlikely]]
    return wake_later(item);
  const std::coroutine_handle<> suspended = item.handle;
  if (this_thread().current || !this_thread().draining) [[unlikely]] {
    resume_outside(suspended);
  } else {  // where the waker runs outside any scheduler there is nothing to note, and nothing to restore
    suspended.resume();
  }
  if (this_thread().has_something_left()) [[unlikely]]
    run_what_is_left();
  ++this_thread().wakes_left;
}

namespace {
class destroyed_executor final : public executor {
  void post(resumption&) noexcept override {
    fail(
        "a coroutine was woken on a scheduler that was destroyed while it waited: end everything that runs "
        "on a scheduler before it is destroyed");
  }
};
}  // namespace

void mark_destroyed(executor& gone) noexcept {
  static_assert(sizeof(destroyed_executor) == sizeof(executor));
  ::new (static_cast<void*>(&gone)) destroyed_executor;
  __asm__ volatile("" : : "r"(&gone) : "memory");  // the compiler may drop stores to what is destroyed
}

void wake_several(waiter* first) noexcept {
  while (first) {
    waiter* const next = static_cast<waiter*>(first->next);
    first->wake();
    first = next;
  }
}
}  // namespace coracle::detail
