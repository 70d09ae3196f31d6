// coracle/core/environment.hpp -- what a coroutine inherits from its parent.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <coracle/core/customisation.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/stop.hpp>
#include <coroutine>

namespace coracle {
namespace detail {
struct local_binding {
  const void* key;
  const void* value;
  const local_binding* outer;
};
}  // namespace detail

/// Stop token, deadline and task-local values: every await passes on one pointer to it. A coroutine inherits
/// it from its parent, which awaits it; if the parent has none, the coroutine gets an empty one.
class environment {
 public:
  environment() = default;

  stop_token stop;  ///< requests that the subtree stop
  /// When the subtree must have ended; max() means never.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const detail::local_binding* locals = nullptr;

 protected:
  environment(stop_token&& asks, std::chrono::steady_clock::time_point until,
              const detail::local_binding* bound) noexcept
      : stop(std::move(asks)), deadline(until), locals(bound) {}
};

namespace detail {
/// Returns the environment of the coroutine `self`, or null if it has none.
template <class Promise>
const environment* environment_of(std::coroutine_handle<Promise> self) noexcept {
  if constexpr (hands_down_environment<Promise>) {
    return self.promise().get_environment();
  } else {
    return nullptr;
  }
}
inline const environment& environment_or_empty(const environment* inherited) noexcept {
  static constexpr environment empty;
  return inherited ? *inherited : empty;
}

/// Calls `read` on the environment of the coroutine that awaits it. Never suspends.
template <class Read>
class [[nodiscard]] read_environment {
 public:
  explicit read_environment(Read read) noexcept : read_(read) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    found_ = detail::environment_of(self);
    return false;
  }
  decltype(auto) await_resume() const { return read_(environment_or_empty(found_)); }

 private:
  Read read_;
  const environment* found_ = nullptr;
};

/// Awaitable of the stop token that the awaiting coroutine inherits, which lives as long as it runs.
inline auto stop_around() noexcept {
  return read_environment([](const environment& here) -> const stop_token& { return here.stop; });
}

/// this_task::throw_if_stopped().
class [[nodiscard]] throws_if_stopped {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    why_ = environment_or_empty(detail::environment_of(self)).stop.reason();
    return false;
  }
  [[nodiscard]] stop_reason await_cancelled() const noexcept { return why_; }
  [[nodiscard]] std::exception_ptr await_failure() const noexcept { return nullptr; }
  void await_resume() const {
    if (why_ != stop_reason::none) throw_cancelled(why_);
  }

 private:
  stop_reason why_ = stop_reason::none;
};

/// Replaces the environment of the awaiting coroutine for all its later awaits. Counts as one ready await
/// (docs/scheduling.md).
class [[nodiscard]] replace_environment : resumption {
 public:
  explicit replace_environment(const environment& replacement) noexcept : replacement_(&replacement) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    self.promise().set_environment(replacement_);
    if (!has_to_give_way()) return false;
    handle = self;
    return give_way(*this);
  }
  void await_resume() const noexcept {}

 private:
  const environment* replacement_;
};
/// The later awaits of the awaiting coroutine inherit nothing, so that no stop request affects the
/// delivery of a result that exists.
inline replace_environment out_of_reach() noexcept {
  return replace_environment{environment_or_empty(nullptr)};
}
}  // namespace detail

/// A value that a coroutine passes to everything below it, however deep, without a parameter.
///
///     const coracle::task_local<std::string_view> request_id{"none"};
///     co_await coracle::with_value(handle(request), request_id, id);
///     // far below:  log(co_await request_id.value());
///
/// Threads  a binding is read by the subtree on whichever threads it runs; it is never written.
/// Cost     a lookup walks the bindings between the reader and the binder.
template <class T>
class task_local {
 public:
  explicit task_local(T fallback) : fallback_(std::move(fallback)) {}
  task_local(const task_local&) = delete;
  task_local& operator=(const task_local&) = delete;

  /// Awaitable of `const T&`: the innermost binding around the caller, or the fallback. Never suspends.
  [[nodiscard]] auto value() const noexcept {
    return detail::read_environment([this](const environment& here) -> const T& {
      for (const detail::local_binding* b = here.locals; b; b = b->outer) {
        if (b->key == this) return *static_cast<const T*>(b->value);
      }
      return fallback_;
    });
  }

 private:
  T fallback_;
};

/// Queries of a coroutine about itself. None of them suspends.
namespace this_task {
/// Awaitable of the inherited stop token; if none was provided, an empty one that is never requested.
[[nodiscard]] inline auto stop_token() noexcept {
  return detail::read_environment([](const environment& here) { return here.stop; });
}
/// Awaitable of nothing: throws operation_cancelled if stop is requested. For a loop that computes.
[[nodiscard]] inline detail::throws_if_stopped throw_if_stopped() noexcept { return {}; }
/// Awaitable of the inherited deadline; time_point::max() where there is none.
[[nodiscard]] inline auto deadline() noexcept {
  return detail::read_environment([](const environment& here) { return here.deadline; });
}
}  // namespace this_task
}  // namespace coracle
