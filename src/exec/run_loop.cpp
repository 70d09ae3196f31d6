// SPDX-License-Identifier: MIT
#include <coracle/detail/park.hpp>
#include <coracle/exec/run_loop.hpp>

namespace coracle {
run_loop::~run_loop() {
  CORACLE_CHECK(!queue_ && !posted_.load(detail::memory_order_relaxed),
                "a run_loop was destroyed with coroutines in its queue");
}

void run_loop::post(resumption& item) noexcept {
  resumption* newest = posted_.load(detail::memory_order_relaxed);
  do {
    item.next = newest;
  } while (!posted_.compare_exchange_weak(newest, &item, detail::memory_order_seq_cst, /*R1, R3*/
                                          detail::memory_order_relaxed));
  if ((signal_.load(detail::memory_order_seq_cst) & sleeping) != 0 && /*R3*/
      (signal_.fetch_and(~sleeping, detail::memory_order_seq_cst) & sleeping) != 0) {
    detail::unpark(&signal_, 1);
  }
}

void run_loop::stop() noexcept {
  const std::uint32_t seen = signal_.exchange(stopping, detail::memory_order_seq_cst);
  if ((seen & sleeping) != 0) detail::unpark(&signal_, 1);
}

resumption* run_loop::take() noexcept {
  if (!queue_) {
    resumption* newest = posted_.exchange(nullptr, detail::memory_order_acquire); /*R2*/
    while (newest) {
      resumption* const next = newest->next;
      newest->next = queue_;
      queue_ = newest;
      newest = next;
    }
  }
  resumption* const first = queue_;
  if (first) queue_ = first->next;
  return first;
}

bool run_loop::run_one() {
  const detail::executor_scope here{this};
  resumption* const item = take();
  if (!item) return false;
  resume(item->handle);
  return true;
}

std::size_t run_loop::run_pending() {
  const detail::executor_scope here{this};
  // If an exception leaves one of them, the rest go back to the front of the queue.
  struct batch {
    resumption*& queue;
    resumption* first = nullptr;
    resumption** end = &first;
    ~batch() {
      if (!first) return;
      *end = queue;
      queue = first;
    }
  } pending{queue_};
  while (resumption* const item = take()) {
    *pending.end = item;
    pending.end = &item->next;
    item->next = nullptr;
  }
  std::size_t count = 0;
  while (resumption* const item = pending.first) {
    pending.first = item->next;
    resume(item->handle);
    ++count;
  }
  return count;
}

void run_loop::run() {
  const detail::executor_scope here{this};
  for (;;) {
    while (resumption* const item = take()) resume(item->handle);
    std::uint32_t seen = signal_.fetch_or(sleeping, detail::memory_order_seq_cst) | sleeping; /*R4*/
    if (posted_.load(detail::memory_order_seq_cst)) {                                         /*R5*/
      signal_.fetch_and(~sleeping, detail::memory_order_seq_cst);
      continue;
    }
    if ((seen & stopping) != 0) {
      signal_.store(0, detail::memory_order_seq_cst);
      return;
    }
    while (seen == sleeping) {
      detail::park(signal_, sleeping);
      seen = signal_.load(detail::memory_order_seq_cst);
    }
  }
}
}  // namespace coracle
