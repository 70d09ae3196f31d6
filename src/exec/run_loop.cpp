// SPDX-License-Identifier: MIT
#include <bit>
#include <coracle/base/park.hpp>
#include <coracle/exec/run_loop.hpp>

#include "turn_order.hpp"

namespace coracle {
namespace {
/// The half of the word that run() sleeps on. An entry's address is never equal to `sleeping` there.
detail::atomic<std::uint32_t>& low_half(detail::atomic<std::uintptr_t>& word) noexcept {
  static_assert(std::endian::native == std::endian::little, "the low half of the word comes first");
  return reinterpret_cast<detail::atomic<std::uint32_t>&>(word);
}
}  // namespace

run_loop::~run_loop() {
  CORACLE_REQUIRE(!queue_ && (state_.load(detail::memory_order_relaxed) & ~stopping) == 0,
                  "a run_loop was destroyed with coroutines in its queue: join them first");
  detail::mark_destroyed(*this);
}

void run_loop::post(resumption& item) noexcept {
  detail::note_post(item);
  std::uintptr_t seen = state_.load(detail::memory_order_relaxed), mine;
  do {
    const std::uintptr_t entries = seen == sleeping ? 0 : seen & ~stopping;
    item.next = reinterpret_cast<resumption*>(entries);
    mine = reinterpret_cast<std::uintptr_t>(&item) | (seen & stopping);
  } while (!state_.compare_exchange_weak(seen, mine, detail::memory_order_release, /*R1*/
                                         detail::memory_order_relaxed));
  if (seen == sleeping) detail::unpark(&low_half(state_), 1);
}

void run_loop::stop() noexcept {
  std::uintptr_t seen = state_.load(detail::memory_order_relaxed);
  while (!state_.compare_exchange_weak(seen, seen == sleeping ? stopping : seen | stopping,
                                       detail::memory_order_release, /*R4*/
                                       detail::memory_order_relaxed)) {
  }
  if (seen == sleeping) detail::unpark(&low_half(state_), 1);
}

resumption* run_loop::take() noexcept {
  if (!queue_ && (state_.load(detail::memory_order_relaxed) & ~stopping) != 0) {           /*R7*/
    const std::uintptr_t taken = state_.fetch_and(stopping, detail::memory_order_acquire); /*R2*/
    queue_ = detail::oldest_first(reinterpret_cast<resumption*>(taken & ~stopping));
  }
  resumption* const first = queue_;
  if (first) queue_ = first->next;
  return first;
}

bool run_loop::run_one() {
  const detail::executor_scope here{this};
  resumption* const item = take();
  if (!item) return false;
  detail::run_turn(*item);
  return true;
}

std::size_t run_loop::run_pending() {
  const detail::executor_scope here{this};
  // If an exception leaves one of them, the rest go back to the front of the queue.
  struct batch {
    detail::plain<resumption*>& queue;
    detail::plain<resumption*> first = nullptr;
    detail::plain<resumption*>* end = &first;
    ~batch() {
      if (!first) return;
      *end = queue;
      queue = first;
    }
  } pending{queue_};
  while (resumption* const item = take()) {
    *pending.end = item;
    pending.end = &item->next;  // null in the last one
  }
  std::size_t count = 0;
  while (resumption* const item = pending.first) {
    pending.first = item->next;
    detail::run_turn(*item);
    ++count;
  }
  return count;
}

void run_loop::run() {
  const detail::executor_scope here{this};
  const detail::timed_budget by_time{detail::this_thread().budget, &detail::turn_clock};
  for (;;) {
    while (resumption* const item = take()) detail::run_turn(*item);
    std::uintptr_t seen = 0;
    if (state_.compare_exchange_strong(seen, sleeping, detail::memory_order_relaxed)) { /*R6*/
      while (state_.load(detail::memory_order_relaxed) == sleeping) {                   /*R3*/
        detail::park(low_half(state_), static_cast<std::uint32_t>(sleeping));
      }
    } else if (seen == stopping &&
               state_.compare_exchange_strong(seen, 0, detail::memory_order_acquire, /*R5*/
                                              detail::memory_order_relaxed)) {
      return;
    }
  }
}
}  // namespace coracle
