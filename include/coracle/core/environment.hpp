// coracle/core/environment.hpp -- what a coroutine inherits from the one that awaits it.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <coracle/core/stop.hpp>
#include <coracle/core/task.hpp>

namespace coracle {
namespace detail {
struct local_binding {
  const void* key;
  const void* value;
  const local_binding* outer;
};
}  // namespace detail

/// Stop token, deadline and task-local values: one pointer to it travels down with every await. A coroutine
/// takes it over at the moment it is awaited; one whose awaiter has none gets an empty one.
class environment {
 public:
  environment() = default;

  stop_token stop;  ///< asks the subtree to stop
  /// When the subtree is to have ended; max(): never.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const detail::local_binding* locals = nullptr;
};

namespace detail {
inline const environment& environment_or_empty(const environment* inherited) noexcept {
  static const environment empty;
  return inherited ? *inherited : empty;
}

/// Calls `read` on the environment of the coroutine that awaits it. Never suspends.
template <class Read>
class [[nodiscard]] read_environment {
 public:
  explicit read_environment(Read read) noexcept : read_(read) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend([[maybe_unused]] std::coroutine_handle<Promise> self) noexcept {
    if constexpr (requires { self.promise().get_environment(); }) found_ = self.promise().get_environment();
    return false;
  }
  decltype(auto) await_resume() const { return read_(environment_or_empty(found_)); }

 private:
  Read read_;
  const environment* found_ = nullptr;
};

/// Gives the awaiting coroutine another environment, for all that it awaits from here on.
class [[nodiscard]] replace_environment {
 public:
  explicit replace_environment(const environment& replacement) noexcept : replacement_(&replacement) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    self.promise().set_environment(replacement_);
    return false;
  }
  void await_resume() const noexcept {}

 private:
  const environment* replacement_;
};

template <class Awaitable, class Change>
task<await_result_t<Awaitable>> with_changed_environment(Awaitable child, Change change) {
  const auto copy = [](const environment& inherited) { return inherited; };
  environment mine = co_await read_environment(copy);
  change(mine);
  co_await replace_environment(mine);
  co_return co_await static_cast<Awaitable&&>(child);
}
}  // namespace detail

/// A value that a coroutine hands to everything below it, however deep, without passing it as a parameter.
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

/// Awaits `child` with `token` as the stop token of everything below it.
template <awaitable Awaitable>
CORACLE_CORO_WRAPPER()
auto with_stop(Awaitable child, stop_token token) {
  return detail::with_changed_environment(
      std::move(child),
      [token = std::move(token)](environment& mine) mutable { mine.stop = std::move(token); });
}
/// Awaits `child` with a deadline no later than `deadline` (steady clock, absolute). An earlier one around it
/// stays in force.
template <awaitable Awaitable>
CORACLE_CORO_WRAPPER()
auto with_deadline(Awaitable child, std::chrono::steady_clock::time_point deadline) {
  return detail::with_changed_environment(std::move(child), [deadline](environment& mine) {
    if (deadline < mine.deadline) mine.deadline = deadline;
  });
}
namespace detail {
template <class Awaitable, class T>
task<await_result_t<Awaitable>> with_bound_value(Awaitable child, const void* key, T value) {
  local_binding binding{key, &value, nullptr};
  auto bind = [&binding](environment& mine) {
    binding.outer = mine.locals;
    mine.locals = &binding;
  };
  co_return co_await with_changed_environment(static_cast<Awaitable&&>(child), bind);
}
}  // namespace detail
/// Awaits `child` with `local` bound to `value` for everything below it.
template <awaitable Awaitable, class T>
CORACLE_CORO_WRAPPER()
auto with_value(Awaitable child, const task_local<T>& local, std::type_identity_t<T> value) {
  return detail::with_bound_value(std::move(child), &local, std::move(value));
}

/// Questions that a coroutine asks about itself. None of them suspends.
namespace this_task {
/// Awaitable of the inherited stop token; an empty one that is never requested where nobody gave any.
[[nodiscard]] inline auto stop_token() noexcept {
  return detail::read_environment([](const environment& here) { return here.stop; });
}
/// Awaitable of the inherited deadline; time_point::max() where there is none.
[[nodiscard]] inline auto deadline() noexcept {
  return detail::read_environment([](const environment& here) { return here.deadline; });
}
}  // namespace this_task
}  // namespace coracle
