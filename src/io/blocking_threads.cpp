// SPDX-License-Identifier: MIT
#include "blocking_threads.hpp"

#include <cerrno>

#include "io_loop.hpp"
#include "system_call.hpp"

namespace coracle::detail {
bool blocking_threads::submit(io_request& request) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (request.progress == io_event::state::cancelled) {
      request.result = -ECANCELED;
      return false;
    }
    push(request);
    if (call_thread(queued_)) return true;
    take_out(request);
    --request.record->with_threads;
    request.progress = io_event::state::running;
  }
  // There is no thread and none can be created: run the request here rather than never.
  request.result = run_blocking(request);
  return false;
}

void blocking_threads::push(io_request& request) noexcept {
  request.progress = io_event::state::queued;
  queue_.push(request);
  ++queued_;
  ++request.record->with_threads;
}
void blocking_threads::take_out(io_request& request) noexcept {
  queue_.remove(request);
  --queued_;
}
void blocking_threads::finish(io_request& request, std::int64_t result) noexcept {
  --request.record->with_threads;
  request.result = result;
  request.progress = io_event::state::finished;
  loop_.finish(request);
}

bool blocking_threads::run_one(std::unique_lock<mutex>& lock) noexcept {
  if (queue_.empty()) return false;
  auto& request = static_cast<io_request&>(*queue_.front());
  take_out(request);
  request.progress = io_event::state::running;
  lock.unlock();
  const std::int64_t result = run_blocking(request);
  lock.lock();
  finish(request, result);
  ended_.notify_all();
  return true;
}

bool blocking_threads::is_cancelled(const io_request& request) noexcept {
  const std::lock_guard lock{mutex_};
  return request.progress == io_event::state::cancelled;
}

std::size_t blocking_threads::count_of(const io_record& record) noexcept {
  const std::lock_guard lock{mutex_};
  return record.with_threads;
}
bool blocking_threads::has_none_of(const io_record& record) noexcept { return count_of(record) == 0; }

void blocking_threads::deliver(io_request& request) noexcept {
  const std::lock_guard lock{mutex_};
  request.progress = io_event::state::finished;
  loop_.finish_behind_others(request);
}

void blocking_threads::cancel(io_request& request) noexcept {
  const std::lock_guard lock{mutex_};
  if (request.progress == io_event::state::idle) request.progress = io_event::state::cancelled;
  if (request.progress != io_event::state::queued) return;
  take_out(request);
  finish(request, -ECANCELED);
}

bool blocking_threads::withdraw(io_request& request) noexcept {
  {
    std::unique_lock lock{mutex_};
    if (request.progress == io_event::state::queued) {
      take_out(request);
      --request.record->with_threads;
      return true;
    }
    ended_.wait(lock, [&] { return request.progress == io_event::state::finished; });
  }
  return loop_.unlist(request);
}
}  // namespace coracle::detail
