// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <coracle/exec/blocking.hpp>
#include <cstddef>
#include <new>

#include "elastic_threads.hpp"

namespace coracle {
namespace detail {
class blocking_pool_state final : public elastic_threads, public blocking_service {
 public:
  using elastic_threads::elastic_threads;
  ~blocking_pool_state() {
    CORACLE_REQUIRE(queue_.empty(),
                    "a blocking_pool was destroyed while calls wait for a thread: join them first");
    retire();
  }

  bool enqueue(blocking_call& call) noexcept override {
    {
      const std::lock_guard lock{mutex_};
      if (!queue_.push(node_of(call))) return false;
      if (call_thread(++queued_)) return true;
      --queued_;
      queue_.take(node_of(call));
    }
    make(call);  // no thread can be started: call it here
    return false;
  }
  bool withdraw(blocking_call& call) noexcept override {
    const std::lock_guard lock{mutex_};
    const bool queued = queue_.withdraw(node_of(call));
    if (queued) --queued_;
    return queued;
  }

 private:
  bool run_one(std::unique_lock<mutex>& lock) noexcept override {
    queued_waiter* const first = queue_.claim();
    if (!first) return false;
    --queued_;
    lock.unlock();
    make(call_of(*first));
    first->wake();
    lock.lock();
    return true;
  }

  wait_queue queue_;
  plain<std::size_t> queued_ = 0;
};

blocking_call::blocking_call(blocking_pool& pool, action* call) noexcept
    : service_(pool.state_.get()), call_(call) {}
bool blocking_call::enqueue() noexcept {
  executor* const here = current_executor();
  if (blocking_service* const its_own = here ? here->blocking_calls() : nullptr) service_ = its_own;
  return service_->enqueue(*this);
}
bool blocking_call::withdraw() noexcept { return service_->withdraw(*this); }
}  // namespace detail

blocking_pool::blocking_pool(std::size_t max_threads, std::chrono::milliseconds idle_time)
    : state_(std::make_unique<detail::blocking_pool_state>("coracle-block", max_threads, idle_time)) {
  CORACLE_REQUIRE(max_threads >= 1, "a blocking_pool was constructed without threads: allow at least one");
}
blocking_pool::~blocking_pool() = default;
std::size_t blocking_pool::thread_count() const noexcept { return state_->thread_count(); }

blocking_pool& default_blocking_pool() {
  alignas(blocking_pool) static std::byte memory[sizeof(blocking_pool)];
  // After fork(), the child process has none of the threads, so it starts with a new, empty pool.
  static blocking_pool& only = []() -> blocking_pool& {
    ::pthread_atfork(nullptr, nullptr, [] { ::new (memory) blocking_pool; });
    return *::new (memory) blocking_pool;
  }();
  return only;
}
}  // namespace coracle
