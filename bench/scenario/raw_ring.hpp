// bench/scenario/raw_ring.hpp -- an io_uring as a hand-written loop uses it: one thread, no locks.
// SPDX-License-Identifier: MIT
#pragma once
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace coracle_bench {
class raw_ring {
 public:
  raw_ring() {
    io_uring_params its{};
    its.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                IORING_SETUP_CQSIZE;
    its.cq_entries = 8192;
    fd_ = static_cast<int>(::syscall(SYS_io_uring_setup, entries, &its));
    if (fd_ < 0) throw std::runtime_error("no io_uring can be made");
    size_ = std::max(its.sq_off.array + its.sq_entries * sizeof(unsigned),
                     its.cq_off.cqes + its.cq_entries * sizeof(io_uring_cqe));
    queues_ = map(size_, IORING_OFF_SQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    sq_head_ = at(its.sq_off.head);
    sq_tail_ = at(its.sq_off.tail);
    cq_head_ = at(its.cq_off.head);
    cq_tail_ = at(its.cq_off.tail);
    completions_ = reinterpret_cast<io_uring_cqe*>(queues_ + its.cq_off.cqes);
    cq_mask_ = its.cq_entries - 1;
    for (unsigned i = 0; i != entries; ++i) at(its.sq_off.array)[i] = i;
  }
  raw_ring(const raw_ring&) = delete;
  raw_ring& operator=(const raw_ring&) = delete;
  ~raw_ring() {
    ::munmap(queues_, size_);
    ::munmap(entries_, entries * sizeof(io_uring_sqe));
    ::close(fd_);
  }

  /// Returns the next entry, zeroed. Submits the queue first if it is full.
  io_uring_sqe& push(std::uint8_t opcode, int fd, std::uint64_t name) {
    if (tail_ - std::atomic_ref{*sq_head_}.load(std::memory_order_acquire) == entries) enter(0);
    io_uring_sqe& entry = entries_[tail_++ & (entries - 1)];
    entry = {};
    entry.opcode = opcode;
    entry.fd = fd;
    entry.user_data = name;
    return entry;
  }
  /// Submits, waits for one completion, and calls `see(completion)` for each.
  template <class See>
  void wait(See see) {
    enter(1);
    unsigned head = *cq_head_;
    const unsigned tail = std::atomic_ref{*cq_tail_}.load(std::memory_order_acquire);
    for (; head != tail; ++head) see(completions_[head & cq_mask_]);
    std::atomic_ref{*cq_head_}.store(head, std::memory_order_release);
  }

 private:
  static constexpr unsigned entries = 2048;

  char* map(std::size_t size, std::uint64_t which) {
    void* const start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                               static_cast<off_t>(which));
    if (start == MAP_FAILED) throw std::runtime_error("an io_uring cannot be mapped");
    return static_cast<char*>(start);
  }
  unsigned* at(unsigned offset) { return reinterpret_cast<unsigned*>(queues_ + offset); }
  void enter(unsigned awaited) {
    std::atomic_ref{*sq_tail_}.store(tail_, std::memory_order_release);
    ::syscall(SYS_io_uring_enter, fd_, tail_ - *sq_head_, awaited, IORING_ENTER_GETEVENTS, nullptr, 0);
  }

  int fd_ = -1;
  std::size_t size_ = 0;
  char* queues_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  unsigned *sq_head_ = nullptr, *sq_tail_ = nullptr, *cq_head_ = nullptr, *cq_tail_ = nullptr;
  io_uring_cqe* completions_ = nullptr;
  unsigned cq_mask_ = 0, tail_ = 0;
};
}  // namespace coracle_bench
