// src/io/ring.hpp -- an io_uring: what the kernel is to do goes in, what it has done comes out.
// SPDX-License-Identifier: MIT
#pragma once
#include <linux/io_uring.h>

#include <coracle/base/atomic.hpp>
#include <coracle/base/small_mutex.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "owned_fd.hpp"

namespace coracle::detail {
/// Memory that the kernel shares.
class shared_memory {
 public:
  /// Throws std::system_error.
  shared_memory(int ring_fd, std::size_t size, std::uint64_t which);
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

/// The submission queue, the completion queue, and the one system call that moves them along. Entries are carried out on
/// behalf of the thread that has submitted them: when it ends, the kernel cancels those that it has not completed.
///
/// Threads  all members from any thread.
class ring {
 public:
  /// Flags of io_uring_setup(2) that every ring here has. The kernel tells of a completion where the submitting thread enters it
  /// anyway, instead of interrupting that thread (Linux 5.19); other threads see it then, or at the next tick of its clock.
  static constexpr std::uint32_t flags =
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  /// What the kernel has to be able to do besides: not lose completions, read entries when they are submitted, wait for a
  /// descriptor without a thread.
  static constexpr std::uint32_t features =
      IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL | IORING_FEAT_SINGLE_MMAP;

  /// Throws std::system_error.
  ring();

  /// Puts an entry behind the others; submits those first if there is no room. `fill` gets it zeroed.
  template <class Fill>
  void push(Fill fill) noexcept {
    const small_mutex_lock lock{pushing_};
    io_uring_sqe& entry = next_entry();
    fill(entry);
    ++tail_;
  }
  /// Takes an entry back by its `user_data`. Returns false if the kernel may have it, or has had it.
  [[nodiscard]] bool revoke(std::uint64_t user_data) noexcept;
  /// Returns true if no entry waits to be submitted.
  [[nodiscard]] bool is_empty() noexcept;
  /// Submits what was pushed. With `wait`, sleeps until there is a completion, or a signal comes.
  void enter(bool wait) noexcept;
  /// Calls `see(completion)` for each that has come. Completions are seen by one thread at a time.
  template <class See>
  void reap(See see) noexcept {
    const small_mutex_lock lock{reaping_};
    reap_locked(see);
  }
  /// Submits what was pushed, and reaps and waits until `is_over()`. Nobody else reaps meanwhile.
  template <class See, class IsOver>
  void reap_until(See see, IsOver is_over) noexcept {
    const small_mutex_lock lock{reaping_};
    for (reap_locked(see); !is_over(); reap_locked(see)) enter(true);
  }

 private:
  template <class See>
  void reap_locked(See see) noexcept {
    std::uint32_t head = cq_head_->load(memory_order_relaxed);       /*R5*/
    const std::uint32_t tail = cq_tail_->load(memory_order_acquire); /*R4*/
    if (head == tail) return;
    see_pushes();
    while (head != tail) see(std::as_const(completions_[head++ & cq_mask_]));
    cq_head_->store(head, memory_order_release); /*R5*/
  }
  [[nodiscard]] io_uring_sqe& entry_at(std::uint32_t position) const noexcept {
    return entries_.at<io_uring_sqe>(0)[position & (params_.sq_entries - 1)];
  }
  /// What a thread wrote before it pushed an entry, another may read when that has completed. The kernel orders that, too,
  /// but the C++ memory model does not know about it.
  void see_pushes() noexcept { const small_mutex_lock after_all_pushes{pushing_}; }
  io_uring_sqe& next_entry() noexcept;
  std::uint32_t publish() noexcept;

  // The kernel is the other party. It takes entries only while a thread is inside io_uring_enter().
  //   [R1] submission tail, store            release           publishes the entries before it; in `pushing_`
  //   [R2] submission head, load             acquire           the kernel has read the entries before it
  //   [R3] flags, load                       relaxed           a hint whether entering the kernel gives completions
  //   [R4] completion tail, load             acquire           sees the completions before it
  //   [R5] completion head, load and store   relaxed, release  the kernel may write over what is before it; in `reaping_`
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
  small_mutex pushing_;
  std::uint32_t published_ = 0,
                tail_ = 0;  // positions of entries, counted on and on; both belong to pushing_
  small_mutex reaping_;     // reap_until() holds it over its sleep, where nobody else is to reap
};
}  // namespace coracle::detail
