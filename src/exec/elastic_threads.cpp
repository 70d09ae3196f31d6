// SPDX-License-Identifier: MIT
#include "elastic_threads.hpp"

#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <utility>

namespace coracle::detail {
namespace {
/// The elastic_threads that this thread belongs to, or null. Not used in models, where all threads share it.
thread_local const elastic_threads* owner_of_this_thread = nullptr;
}  // namespace

bool elastic_threads::call_thread(std::size_t queued) noexcept {
  if (queued <= idle_) {
    work_.notify_one();
    return true;
  }
  return (threads_ < max_threads_ && start_thread()) || threads_ != 0;
}

bool elastic_threads::start_thread() noexcept {
  thread_handle started;
  if (detail::start_thread(started, &enter, this) != 0) return false;
  ++threads_;
  return true;
}

void* elastic_threads::enter(void* self) noexcept {
  auto& threads = *static_cast<elastic_threads*>(self);
  name_this_thread(threads.name_);
  threads.run();
  return nullptr;
}

void elastic_threads::run() noexcept {
  if constexpr (!is_modelled) owner_of_this_thread = this;
  std::unique_lock lock{mutex_};
  for (bool timed_out = false;;) {
    if (run_one(lock)) {
      timed_out = false;
    } else if (stopping_ || timed_out) {
      break;
    } else {
      ++idle_;
      timed_out = work_.wait_for(lock, idle_time_) == std::cv_status::timeout;
      --idle_;
    }
  }
  --threads_;
  if (!stopping_) {
    detach_this_thread();
    return;
  }
  const thread_handle previous = std::exchange(last_ended_, this_thread_handle());
  const bool is_first = !std::exchange(has_ended_, true);
  if (threads_ == 0) ended_.notify_all();
  lock.unlock();
  if (!is_first) join_thread(previous);
}

void elastic_threads::retire() noexcept {
  CORACLE_REQUIRE(owner_of_this_thread != this,
                  "deadlock: threads for blocking calls were joined on one of them");
  std::unique_lock lock{mutex_};
  stopping_ = true;
  work_.notify_all();
  ended_.wait(lock, [&] { return threads_ == 0; });
  lock.unlock();
  if (has_ended_) join_thread(last_ended_);
}
}  // namespace coracle::detail
