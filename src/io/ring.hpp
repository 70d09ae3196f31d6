// src/io/ring.hpp -- an io_uring: its submission queue and its completion queue.
// SPDX-License-Identifier: MIT
#pragma once
#include <linux/io_uring.h>

#include <coracle/base/atomic.hpp>
#include <coracle/base/small_mutex.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lock_bias.hpp"
#include "owned_fd.hpp"

namespace coracle::detail {
/// A mapping of memory that is shared with the kernel.
class shared_memory {
 public:
  /// `offset` selects the mapping: IORING_OFF_SQ_RING or IORING_OFF_SQES. Throws std::system_error.
  shared_memory(int ring_fd, std::size_t size, std::uint64_t offset);
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  ~shared_memory();

  template <class T>
  [[nodiscard]] T* at(std::uint32_t offset) const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(start_) + offset);
  }

 private:
  void* start_;
  std::size_t size_;
};

/// The submission queue, the completion queue, and io_uring_enter(), which submits and waits. The kernel
/// carries out an entry on behalf of the thread that submitted it: when that thread exits, the kernel cancels
/// its uncompleted entries.
///
/// Threads  all members may be called from any thread.
class ring {
 public:
  /// The flags of io_uring_setup(2). With COOP_TASKRUN (Linux 5.19) the kernel does not interrupt the
  /// submitting thread to post a completion, but posts it when that thread next enters the kernel. Other
  /// threads see the completion then, or at the next tick of the kernel's clock.
  static constexpr std::uint32_t flags =
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  /// Features that the kernel must have in addition: it loses no completions, copies entries on submission,
  /// waits for descriptors without a thread, and maps both queues at once.
  static constexpr std::uint32_t features =
      IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL | IORING_FEAT_SINGLE_MMAP;

  /// Throws std::system_error.
  ring();

  /// Of the lock of the submission queue, and of the locks of the requests in it.
  [[nodiscard]] lock_bias& bias() noexcept { return bias_; }

  /// Appends an entry; if the queue is full, submits the other entries first. `fill` receives a zeroed entry.
  /// `by`: of bias().
  template <class Fill>
  void push(const lock_bias::use& by, Fill fill) noexcept {
    const biased_lock lock{pushing_, by};
    if (is_full()) [[unlikely]]
      make_room();
    io_uring_sqe& entry = entry_at(tail_);
    entry = {};
    fill(entry);
    ++tail_;
    has_entries_.store(true, memory_order_relaxed); /*R6*/
  }
  /// Removes an entry by its `user_data`. Returns false if it may have been submitted.
  [[nodiscard]] bool revoke(const lock_bias::use& by, std::uint64_t user_data) noexcept;
  /// Returns true if every entry has been submitted. A hint, unless only this thread pushes and enters.
  [[nodiscard]] bool is_empty() const noexcept { return !has_entries_.load(memory_order_relaxed); } /*R7*/
  /// Submits the pushed entries. With `wait`, sleeps until there is a completion, or a signal handler has
  /// run.
  void enter(bool wait) noexcept;
  /// Calls `handle(completion)` for each completion in the queue. Only one thread at a time handles
  /// completions.
  template <class Handle>
  void reap(Handle handle) noexcept {
    const small_mutex_lock lock{reaping_};
    reap_locked(handle);
  }
  /// Submits the pushed entries and reaps until `is_over()` returns true. No other thread can reap meanwhile.
  template <class Handle, class IsOver>
  void reap_until(Handle handle, IsOver is_over) noexcept {
    const small_mutex_lock lock{reaping_};
    for (reap_locked(handle); !is_over(); reap_locked(handle)) enter(true);
  }

 private:
  template <class Handle>
  void reap_locked(Handle handle) noexcept {
    std::uint32_t head = cq_head_->load(memory_order_relaxed);       /*R5*/
    const std::uint32_t tail = cq_tail_->load(memory_order_acquire); /*R4*/
    if (head == tail) return;
    synchronise_with_pushes();
    while (head != tail) handle(std::as_const(completions_[head++ & cq_mask_]));
    cq_head_->store(head, memory_order_release); /*R5*/
  }
  [[nodiscard]] io_uring_sqe& entry_at(std::uint32_t position) const noexcept {
    return entries_.at<io_uring_sqe>(0)[position & (params_.sq_entries - 1)];
  }
  /// Makes what a thread wrote before it pushed an entry visible to the thread that reaps the completion. The
  /// kernel orders the two as well, but in the C++ memory model only the lock does.
  void synchronise_with_pushes() noexcept {
    const lock_bias::use mine{bias_};
    const biased_lock after_all_pushes{pushing_, mine};
  }
  [[nodiscard]] bool is_full() const noexcept {
    return tail_ - sq_head_->load(memory_order_acquire) == params_.sq_entries; /*R2*/
  }
  /// Submits entries until there is room for another.
  void make_room() noexcept;
  std::uint32_t publish() noexcept;

  // These accesses pair with accesses of the kernel, which takes entries only while a thread is inside
  // io_uring_enter().
  //   [R1] submission tail, store           release           publishes the entries before it; in `pushing_`
  //   [R2] submission head, load            acquire           the kernel has read the entries before it
  //   [R3] flags, load                      relaxed           a hint: the kernel has completions to post
  //   [R4] completion tail, load            acquire           sees the completions before it
  //   [R5] completion head, load and store  relaxed, release  lets the kernel reuse entries; in `reaping_`
  // And two that pair with none:
  //   [R6] has_entries_, store              relaxed           in `pushing_`
  //   [R7] has_entries_, load               relaxed           orders nothing
  io_uring_params params_;
  owned_fd fd_;
  shared_memory queues_;
  shared_memory entries_;
  atomic<std::uint32_t>* const sq_head_;
  atomic<std::uint32_t>* const sq_tail_;
  atomic<std::uint32_t>* const sq_flags_;
  atomic<std::uint32_t>* const cq_head_;
  atomic<std::uint32_t>* const cq_tail_;
  const io_uring_cqe* const completions_;
  const std::uint32_t cq_mask_;
  atomic<bool> has_entries_{false};  // that are not published
  lock_bias bias_;
  small_mutex pushing_;
  std::uint32_t published_ = 0, tail_ = 0;  // free-running positions of entries; both belong to pushing_
  small_mutex reaping_;  // reap_until() holds it while it sleeps, so that no other thread reaps
};
}  // namespace coracle::detail
