// coracle/utility/on_scope_exit.hpp -- scope guards.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/base/thread_state.hpp>
#include <exception>
#include <type_traits>

namespace coracle {
namespace detail {
enum class scope_end { any, failure, success };

/// Calls its function when it is destroyed, unless cancelled.
template <class Function, scope_end When>
class [[nodiscard("give the guard a name: without one it ends with this line")]] scope_guard {
  static constexpr bool may_throw = When == scope_end::success && !std::is_nothrow_invocable_v<Function&>;

 public:
  explicit scope_guard(Function&& function) noexcept(std::is_nothrow_constructible_v<Function, Function&&>)
      : function_(static_cast<Function&&>(function)) {}
  /// `other` no longer calls the function.
  scope_guard(scope_guard&& other) noexcept(std::is_nothrow_constructible_v<Function, Function&&>)
      : function_(static_cast<Function&&>(other.function_)),
        outer_(other.outer_),
        active_(detail::exchange(other.active_, false)) {}
  scope_guard& operator=(scope_guard&&) = delete;
  ~scope_guard() noexcept(!may_throw) {
    if (active_ && is_due()) function_();
  }

  /// The function will not be called.
  void cancel() noexcept { active_ = false; }
  /// Calls the function now instead of at the end of the scope.
  void call_now() {
    active_ = false;
    function_();
  }

 private:
  bool is_due() const noexcept {
    if constexpr (When == scope_end::any) return true;
    return (unwinding() > outer_) == (When == scope_end::failure);
  }
  /// How many exceptions are in flight on this thread, and how many tasks is a stop request ending.
  static int unwinding() noexcept {
    return std::uncaught_exceptions() + static_cast<int>(this_thread().stopping);
  }

  Function function_;
  int outer_ = unwinding();
  bool active_ = true;
};
}  // namespace detail

/// A guard that calls `function` on every way out of its scope: at the end, by a return or an exception, or
/// because the coroutine is destroyed while suspended. It refers to a named function object and stores a
/// temporary one.
///
///     auto stop_loop = coracle::on_scope_exit([&] { loop.stop(); });
///     co_await work();  // the loop stops in any case, unless stop_loop.cancel() is called
///
/// Exceptions  an exception that leaves the function ends the program.
/// Cost        the function, and two words.
template <class Function>
  requires std::is_invocable_v<Function&>
auto on_scope_exit(Function&& function) {
  return detail::scope_guard<Function, detail::scope_end::any>{static_cast<Function&&>(function)};
}
/// As on_scope_exit, but calls the function only if an exception leaves the scope, or a stop request ends the
/// task while it waits. It compares the number of exceptions in flight on the thread, which misleads it in a
/// coroutine if the scope began or ended inside a destructor that another exception runs and that resumed the
/// coroutine.
template <class Function>
  requires std::is_invocable_v<Function&>
auto on_scope_failure(Function&& function) {
  return detail::scope_guard<Function, detail::scope_end::failure>{static_cast<Function&&>(function)};
}
/// As on_scope_exit, but does not call the function where on_scope_failure would, detected in the same way.
/// It is also called if the owner of the coroutine destroys it while it waits.
///
/// Exceptions  those of the function leave the scope.
template <class Function>
  requires std::is_invocable_v<Function&>
auto on_scope_success(Function&& function) {
  return detail::scope_guard<Function, detail::scope_end::success>{static_cast<Function&&>(function)};
}
}  // namespace coracle
