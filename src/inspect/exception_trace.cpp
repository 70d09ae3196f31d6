// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/base/atomic.hpp>
#include <coracle/base/small_mutex.hpp>
#include <coracle/core/detail/leaving_exception.hpp>
#include <coracle/inspect/exception_trace.hpp>
#include <cstring>
#include <mutex>

namespace coracle {
namespace detail {
namespace {
/// The most recent exceptions that have left a task.
class recent_exceptions {
 public:
  void record(bool records) noexcept {
    const std::lock_guard guard(lock_);
    is_enabled_.store(records, memory_order_relaxed); /*X1*/
    // A later exception may get the memory of one that was recorded.
    for (trace& each : traces_) each.exception = nullptr;
  }
  /// An exception leaves one task after the other. Records the awaits of the first.
  void add(const void* exception, std::coroutine_handle<> task) noexcept {
    if (!is_enabled_.load(memory_order_relaxed)) return; /*X1*/
    const std::lock_guard guard(lock_);
    if (!is_enabled_.load(memory_order_relaxed)) return; /*X1*/
    trace* place = find(exception);
    if (place && place->goes_on_to(task.address())) return;
    if (!place) place = &traces_[next_++ % most];
    place->exception = exception;
    place->awaits = async_stacktrace::of(task);
    place->left = 0;
  }
  async_stacktrace awaits_of(const void* exception) noexcept {
    const std::lock_guard guard(lock_);
    const trace* const found = exception ? find(exception) : nullptr;
    return found ? found->awaits : async_stacktrace();
  }

 private:
  static constexpr std::size_t most = 64;
  struct trace {
    const void* exception = nullptr;
    async_stacktrace awaits;

    std::size_t left = 0;  // the outermost of them that the exception has left

    /// Returns true if the exception goes on to this task. False if it is another one, which has got the
    /// memory of an earlier exception: tasks in the chain that have ended may share their memory with its
    /// own.
    [[nodiscard]] bool goes_on_to(const void* frame) noexcept {
      for (std::size_t outer = left + 1; outer < awaits.size(); ++outer) {
        if (awaits[outer].frame != frame) continue;
        left = outer;
        return true;
      }
      return false;
    }
  };
  trace* find(const void* exception) noexcept {
    const auto found = std::find_if(std::begin(traces_), std::end(traces_),
                                    [=](const trace& each) { return each.exception == exception; });
    return found != std::end(traces_) ? found : nullptr;
  }

  //   [X1] whether exceptions are recorded  relaxed  lock_ guards what is recorded
  atomic<bool> is_enabled_{false};
  small_mutex lock_;
  std::size_t next_ = 0;
  trace traces_[most];
};
constinit recent_exceptions recent;

/// The object that was thrown: both standard libraries keep its address alone.
const void* object_of(const std::exception_ptr& exception) noexcept {
  static_assert(sizeof(exception) == sizeof(void*));
  const void* object;
  std::memcpy(&object, &exception, sizeof object);
  return object;
}
}  // namespace

void exception_leaves(void* frame) noexcept {
  recent.add(object_of(std::current_exception()), std::coroutine_handle<>::from_address(frame));
}
}  // namespace detail

void trace_exceptions(bool records) noexcept { detail::recent.record(records); }
async_stacktrace trace_of(const std::exception_ptr& exception) noexcept {
  return detail::recent.awaits_of(detail::object_of(exception));
}
}  // namespace coracle
