// src/core/shared_task.cpp -- the awaiters and the end of a shared coroutine.
// SPDX-License-Identifier: MIT
#include <coracle/core/shared_task.hpp>

namespace coracle::detail {
shared_end::arrival shared_end::enqueue(queued_waiter& self) noexcept {
  const std::uint32_t seen = state_.lock();
  const bool waits = seen != ended && waiters_.push(self);
  if (seen == ended) static_cast<void>(waiters_.serve_at_once(self));
  const bool starts = waits && seen == unstarted;
  if (starts) add_handle();
  state_.unlock(starts ? running : seen);
  return starts ? arrival::starts : waits ? arrival::waits : arrival::goes_on;
}

bool shared_end::withdraw(queued_waiter& waiting) noexcept {
  const std::uint32_t seen = state_.lock();
  const bool waited = waiters_.withdraw(waiting);
  state_.unlock(seen);
  return waited;
}

void shared_end::destroy_frame() noexcept {
  shared_destructions& thread = this_thread().destructions;
  if (thread.depth == shared_destructions::most) [[unlikely]]
    return destroy_later(thread);
  ++thread.depth;
  frame().destroy();
  if (thread.depth == 1 && thread.first) [[unlikely]]
    destroy_those_put_off(thread);
  --thread.depth;
}

std::coroutine_handle<> shared_end::end() noexcept {
  static_cast<void>(state_.lock());
  waiter* const first = waiters_.take_all();
  state_.unlock(ended);
  if (first && !first->next && first->home == current_executor()) return first->handle;
  wake_all(first);
  return nullptr;
}

void shared_end::destroy_later(shared_destructions& thread) noexcept {
  handles_.store(count_or_next(std::exchange(thread.first, this)).bits(), memory_order_relaxed); /*H4*/
}

void shared_end::destroy_those_put_off(shared_destructions& thread) noexcept {
  while (shared_end* const each = thread.first) {
    const std::uintptr_t next = each->handles_.load(memory_order_relaxed); /*H4*/
    thread.first = count_or_next::from_bits(next).pointer();
    each->frame().destroy();
  }
}
}  // namespace coracle::detail
