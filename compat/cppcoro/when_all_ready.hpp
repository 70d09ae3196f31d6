// cppcoro/when_all_ready.hpp -- await several awaitables at the same time, and get the ended children.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/functional.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/environment.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/detail/awaiting_task.hpp>
#include <cppcoro/detail/join_frame.hpp>
#include <cppcoro/is_awaitable.hpp>
#include <tuple>
#include <type_traits>
#include <vector>

namespace cppcoro {
namespace detail {
template <class T>
struct unwrap_reference {
  using type = T;
};
template <class T>
struct unwrap_reference<std::reference_wrapper<T>> {
  using type = T&;
};
/// What is awaited for an argument of type `T`: the argument itself, or what a std::reference_wrapper names.
template <class T>
using awaited_argument_t = typename unwrap_reference<std::remove_cvref_t<T>>::type;

template <class T>
concept awaitable_argument = coracle::awaitable<awaited_argument_t<T>>;
template <class Result>
using when_all_task = awaiting_task<Result>;
/// The child that awaits an argument of type `T`.
template <class T>
using child_for_t = when_all_task<coracle::await_result_t<awaited_argument_t<T>>>;
template <class T>
child_for_t<T> make_when_all_task(T&& value) {
  return make_awaiting_task<awaited_argument_t<T>, std::remove_cvref_t<T>>(static_cast<T&&>(value));
}

/// Awaited, it runs all of `tasks` and then gives them: as an lvalue where it is one itself.
template <class Tasks>
class [[nodiscard("when_all_ready does nothing until it is awaited")]] when_all_ready_awaitable {
  class awaiter_base;
  template <class Given>
  class awaiter;

 public:
  explicit when_all_ready_awaitable(Tasks&& tasks) : tasks_(std::move(tasks)) {}
  /// Requires: not awaited yet.
  when_all_ready_awaitable(when_all_ready_awaitable&& other) : tasks_(std::move(other.tasks_)) {}

  awaiter<Tasks&> operator co_await() & noexcept { return awaiter<Tasks&>{*this}; }
  awaiter<Tasks&&> operator co_await() && noexcept { return awaiter<Tasks&&>{*this}; }

 private:
  [[nodiscard]] std::size_t size() const noexcept {
    if constexpr (requires { tasks_.size(); }) {
      return tasks_.size();
    } else {
      return std::tuple_size_v<Tasks>;
    }
  }
  template <class F>
  void for_each(F f) {
    if constexpr (requires { tasks_.begin(); }) {
      for (auto& one : tasks_) f(one);
    } else {
      std::apply([&f](auto&... each) { (f(each), ...); }, tasks_);
    }
  }

  Tasks tasks_;
  join_frame join_;
};

template <class Tasks>
class when_all_ready_awaitable<Tasks>::awaiter_base {
 public:
  explicit awaiter_base(when_all_ready_awaitable& owner) noexcept : owner_(owner) {}
  bool await_ready() const noexcept { return owner_.join_.has_begun(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) {
    when_all_ready_awaitable& owner = owner_;
    owner.join_.begin(owner.size(), parent, coracle::detail::environment_of(parent));
    start_all(owner);
    return !owner.join_.one_ended();
  }

 protected:
  when_all_ready_awaitable& owner_;

 private:
  /// Counted as a start of children, so that a pool runs those that call schedule() depth first.
  static void start_all(when_all_ready_awaitable& owner) {
    const coracle::detail::nested_start inside;
    owner.for_each([&join = owner.join_](auto& one) { one.start(join.handle()); });
  }
};
template <class Tasks>
template <class Given>
class when_all_ready_awaitable<Tasks>::awaiter : public awaiter_base {
 public:
  using awaiter_base::awaiter_base;
  Given await_resume() const noexcept { return static_cast<Given>(this->owner_.tasks_); }
};
}  // namespace detail

/// Starts all, waits until all have ended, and gives a tuple of children; `child.result()` gives the result
/// or throws the exception. An argument is moved in, or copied; with std::ref it is awaited where it is.
///
///     auto [a, b] = co_await cppcoro::when_all_ready(first(), second());
///     use(a.result());
///
/// Prefer coracle::when_all_ready in new code: it needs no frame for a child.
/// Order       started one after the other on the awaiting thread, each until it first suspends.
/// Resumes on  the executor of the awaiting coroutine; if it has none, wherever the last child ended.
/// Exceptions  none: they stay in the children.
/// Cost        one frame a child.
template <class First, class... Rest>
  requires detail::awaitable_argument<First> && (detail::awaitable_argument<Rest> && ...)
auto when_all_ready(First&& first, Rest&&... rest) {
  // `First` stands apart so that an unqualified call that finds coracle's function, too, prefers this one.
  using tasks = std::tuple<detail::child_for_t<First>, detail::child_for_t<Rest>...>;
  return detail::when_all_ready_awaitable<tasks>(
      tasks{detail::make_when_all_task<First>(static_cast<First&&>(first)),
            detail::make_when_all_task<Rest>(static_cast<Rest&&>(rest))...});
}
inline auto when_all_ready() { return detail::when_all_ready_awaitable<std::tuple<>>({}); }
/// Gives a vector of children.
template <class Awaitable>
  requires detail::awaitable_argument<Awaitable>
auto when_all_ready(std::vector<Awaitable> all) {
  std::vector<detail::child_for_t<Awaitable>> tasks;
  tasks.reserve(all.size());
  for (auto& each : all) tasks.push_back(detail::make_when_all_task<Awaitable>(std::move(each)));
  return detail::when_all_ready_awaitable<std::vector<detail::child_for_t<Awaitable>>>(std::move(tasks));
}
}  // namespace cppcoro
