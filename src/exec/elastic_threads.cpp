// SPDX-License-Identifier: MIT
#include "elastic_threads.hpp"

#include <utility>

namespace coracle::detail {
bool elastic_threads::call_thread(std::size_t queued) noexcept {
  if (queued <= idle_) {
    work_.notify_one();
    return true;
  }
  return (threads_ < most_ && start_thread()) || threads_ != 0;
}

bool elastic_threads::start_thread() noexcept {
  pthread_t started;
  if (::pthread_create(&started, nullptr, &enter, this) != 0) return false;
  ++threads_;
  return true;
}

void* elastic_threads::enter(void* self) noexcept {
  static_cast<elastic_threads*>(self)->run();
  return nullptr;
}

void elastic_threads::run() noexcept {
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
    ::pthread_detach(::pthread_self());
    return;
  }
  const pthread_t previous = std::exchange(last_ended_, ::pthread_self());
  const bool is_first = !std::exchange(has_ended_, true);
  if (threads_ == 0) ended_.notify_all();
  lock.unlock();
  if (!is_first) ::pthread_join(previous, nullptr);
}

void elastic_threads::retire() noexcept {
  std::unique_lock lock{mutex_};
  stopping_ = true;
  work_.notify_all();
  ended_.wait(lock, [&] { return threads_ == 0; });
  lock.unlock();
  if (has_ended_) ::pthread_join(last_ended_, nullptr);
}
}  // namespace coracle::detail
