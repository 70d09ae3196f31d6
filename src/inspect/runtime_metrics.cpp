// SPDX-License-Identifier: MIT
#include <coracle/core/detail/frame_cache.hpp>
#include <coracle/inspect/runtime_metrics.hpp>
#include <ctime>
#include <mutex>

#include "metric_source.hpp"

namespace coracle {
namespace detail {
namespace {
// Guards the list. Taken before the locks of a scheduler, by a thread that holds none.
constinit mutex lock_of_sources;
constinit metric_source* first_source = nullptr;
constinit metric_source** end_of_sources = &first_source;
constinit std::uint64_t last_number = 0;

/// A child process that destroys an io_service needs the lock.
[[maybe_unused]] const int kept_over_fork = ::pthread_atfork(
    [] { lock_of_sources.lock(); }, [] { lock_of_sources.unlock(); }, [] { lock_of_sources.unlock(); });
}  // namespace

void metric_source::show() noexcept {
  const std::lock_guard lock{lock_of_sources};
  number_ = ++last_number;
  link_ = end_of_sources;
  *end_of_sources = this;
  end_of_sources = &next_;
}

void metric_source::hide() noexcept {
  const std::lock_guard lock{lock_of_sources};
  if (!link_) return;
  *link_ = next_;
  (next_ ? next_->link_ : end_of_sources) = link_;
  next_ = nullptr;
  link_ = nullptr;
}

thread_metrics metrics_of(thread_handle thread) noexcept {
  clockid_t clock{};
  timespec used{};
  if (::pthread_getcpuclockid(thread, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  // Linux: the id of a thread's clock is the complement of the thread's, above three bits.
  return {.id = ~(clock >> 3),
          .processor_time = std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec}};
}
}  // namespace detail

runtime_metrics read_runtime_metrics() {
  runtime_metrics found;
  found.shared_frame_bytes = detail::frames_for_others.bytes();
  const std::lock_guard lock{detail::lock_of_sources};
  for (detail::metric_source* each = detail::first_source; each; each = each->next_) each->add_to(found);
  return found;
}
}  // namespace coracle
