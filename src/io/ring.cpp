// SPDX-License-Identifier: MIT
#include "ring.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

namespace coracle::detail {
namespace {
constexpr std::uint32_t submission_entries = 256;   // of 64 bytes each
constexpr std::uint32_t completion_entries = 2048;  // of 16 bytes each; the kernel stores any overflow itself
/// The delay before a submission is retried for which the kernel had no memory.
constexpr int memory_retry_ms = 1;

int set_up(io_uring_params& params) noexcept {
  params.flags = ring::flags;
  params.cq_entries = completion_entries;
  return static_cast<int>(::syscall(SYS_io_uring_setup, submission_entries, &params));
}
std::size_t size_of_queues(const io_uring_params& params) noexcept {
  return std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t),
                               params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
}
/// Returns false if the system call failed; see errno.
bool enter_kernel(int fd, std::uint32_t submitted, std::uint32_t awaited) noexcept {
  return ::syscall(SYS_io_uring_enter, fd, submitted, awaited, IORING_ENTER_GETEVENTS, nullptr, 0) >= 0;
}
}  // namespace

shared_memory::shared_memory(int ring_fd, std::size_t size, std::uint64_t offset)
    : start_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_fd,
                    static_cast<off_t>(offset))),
      size_(size) {
  if (start_ == MAP_FAILED) throw_errno("mmap of an io_uring");
  // A child process must not use its parent's ring.
  ::madvise(start_, size_, MADV_DONTFORK);
}
shared_memory::~shared_memory() { ::munmap(start_, size_); }

ring::ring()
    : params_(),
      fd_(set_up(params_), "io_uring_setup"),
      queues_(fd_.get(), size_of_queues(params_), IORING_OFF_SQ_RING),
      entries_(fd_.get(), params_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES),
      sq_head_(queues_.at<atomic<std::uint32_t>>(params_.sq_off.head)),
      sq_tail_(queues_.at<atomic<std::uint32_t>>(params_.sq_off.tail)),
      sq_flags_(queues_.at<atomic<std::uint32_t>>(params_.sq_off.flags)),
      cq_head_(queues_.at<atomic<std::uint32_t>>(params_.cq_off.head)),
      cq_tail_(queues_.at<atomic<std::uint32_t>>(params_.cq_off.tail)),
      completions_(queues_.at<io_uring_cqe>(params_.cq_off.cqes)),
      cq_mask_(params_.cq_entries - 1) {
  if ((params_.features & features) != features) {
    errno = EINVAL;
    throw_errno("io_uring_setup");
  }
  // Entries are used in order, so the index array never changes.
  auto* const indices = queues_.at<std::uint32_t>(params_.sq_off.array);
  for (std::uint32_t i = 0; i != params_.sq_entries; ++i) indices[i] = i;
}

void ring::make_room() noexcept {
  while (is_full()) {
    if (!enter_kernel(fd_.get(), publish(), 0)) ::poll(nullptr, 0, memory_retry_ms);
  }
}

/// Requires: the caller holds `pushing_`. Returns the number of entries that the kernel has not taken yet.
std::uint32_t ring::publish() noexcept {
  published_ = tail_;
  has_entries_.store(false, memory_order_relaxed);     /*R6*/
  sq_tail_->store(tail_, memory_order_release);        /*R1*/
  return tail_ - sq_head_->load(memory_order_acquire); /*R2*/
}

bool ring::revoke(const lock_bias::use& by, std::uint64_t user_data) noexcept {
  const biased_lock lock{pushing_, by};
  for (std::uint32_t position = tail_; position != published_;) {
    io_uring_sqe& entry = entry_at(--position);
    if (entry.user_data != user_data) continue;
    entry = {};
    entry.opcode = IORING_OP_NOP;
    entry.flags = IOSQE_CQE_SKIP_SUCCESS;
    return true;
  }
  return false;
}

void ring::enter(bool wait) noexcept {
  const std::uint32_t to_submit = [this] {
    const lock_bias::use mine{bias_};
    const biased_lock lock{pushing_, mine};
    return publish();
  }();
  constexpr std::uint32_t kernel_has_more = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;
  const bool has_more = (sq_flags_->load(memory_order_relaxed) & kernel_has_more) != 0; /*R3*/
  if (!wait && to_submit == 0 && !has_more) return;
  if (enter_kernel(fd_.get(), to_submit, wait ? 1 : 0)) return;
  // EBUSY: completions must be reaped first, which the caller does anyway.
  if (wait && errno != EINTR && errno != EBUSY) ::poll(nullptr, 0, memory_retry_ms);
}
}  // namespace coracle::detail
