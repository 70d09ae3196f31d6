// coracle/compose/when_all.hpp -- await several awaitables concurrently.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/siblings_operation.hpp>
#include <initializer_list>

namespace coracle {
namespace detail {
template <class Children>
class [[nodiscard("when_all does nothing until it is awaited")]] when_all_operation
    : public siblings_operation<siblings::rule::all, Children> {
 public:
  using when_all_operation::siblings_operation::siblings_operation;
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    this->leave_subtree();
    return this->cancelled();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept { return this->failure(); }
  auto await_resume() {
    this->throw_failure();
    if constexpr (!gives_nothing) return this->collect([](auto&& one) { return detail::element_of(one); });
  }

 private:
  static constexpr bool gives_nothing = [] {
    if constexpr (when_all_operation::is_range) {
      return std::is_void_v<result_of_sibling<typename Children::value_type>>;
    } else {
      return false;
    }
  }();
};

template <class Children>
class [[nodiscard("when_all_ready does nothing until it is awaited")]] when_all_ready_operation
    : public siblings_operation<siblings::rule::collect, Children> {
 public:
  using when_all_ready_operation::siblings_operation::siblings_operation;
  auto await_resume() {
    return this->collect([refused = this->cancelled()](auto&& one) {
      if (refused == stop_reason::none) [[likely]]
        return one.get().take_outcome();
      decltype(one.get().take_outcome()) end;
      end.emplace_cancelled(refused);
      return end;
    });
  }
};
}  // namespace detail

/// Awaits all of its arguments concurrently and returns their results in a tuple, with void_value for work
/// without a result; for a range, in a vector, with the range's allocator if that is a vector, too. For a
/// range of work without results, nothing is returned. An lvalue reference is returned as
/// std::reference_wrapper, an rvalue reference as a value.
///
///     auto [a, b] = co_await coracle::when_all(first(), second());
///     std::vector<int> sizes = co_await coracle::when_all(std::move(tasks));
///
/// An rvalue is moved in; an lvalue, such as an event, is referred to. An argument may also be a function
/// that returns an awaitable: it is moved in or copied, called when its turn comes, and kept as long as what
/// it returns (invoke()). An empty range completes at once.
/// Order         the children start one after another, each when the previous one has ended or waits. On a
///               pool, an idle thread meanwhile takes over starting the rest, so the children are divided
///               among the threads. Elsewhere they start on the awaiting thread. Once one has failed, the
///               rest are not started. Where more than 16 such starts are nested outside a pool, the children
///               start before the outermost of them returns.
/// Resumes on    the executor of the awaiting coroutine; without one, wherever the last child ended.
/// Cancellation  the children inherit the environment, with a stop token of their own. The first to end
///               without a result stops the others, with the reason sibling_failed; those that wait are
///               destroyed where they wait, like the losers of when_any. A stop request from outside stops
///               all. when_all always waits for all that were started. It throws operation_cancelled if a
///               child has no result and none has failed.
/// Exceptions    that of the child that fails; an error_group if several do. std::bad_alloc if a child waits
///               or keeps a stop token and the stop source cannot be allocated: the others are stopped.
/// Threads       children may end on any threads.
/// Cost          a stop source, if a child waits. For a range, the vector of results, and one of the children
///               unless the range is a vector of tasks; nothing is allocated for a task. One atomic operation
///               for each child that ends later, or on a thread other than the one that starts them; constant
///               stack.
template <class... Works>
  requires(detail::work<Works> && ...) && (sizeof...(Works) != 0)
auto when_all(Works&&... each) {
  using children = std::tuple<detail::joined_sibling_t<detail::work_t<Works>>...>;
  return detail::when_all_operation<children>{std::in_place,
                                              detail::as_awaitable(static_cast<Works&&>(each))...};
}
template <detail::awaitable_range Range>
  requires(!detail::work<Range>)
auto when_all(Range&& range) {
  auto children = detail::siblings_from_range<detail::joined_sibling_t, std::remove_cvref_t<Range>>(
      static_cast<Range&&>(range));
  return detail::when_all_operation<decltype(children)>{std::in_place, std::move(children)};
}
template <class T>
  requires(!std::is_copy_constructible_v<T>)
auto when_all(std::initializer_list<T>) {
  static_assert(detail::never<T>,
                "a braced list would copy its elements: pass them as arguments, or in a std::vector filled "
                "by push_back()");
  return detail::any_awaiter{};
}
template <class... Ts>
auto when_all(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_work<Ts> && ...),
      "when_all needs awaitables, or one range of them: calls that return tasks, or std::move of tasks "
      "that have a name, or functions that return them");
  static_assert(sizeof...(Ts) != 0, "when_all() of nothing: pass at least one awaitable");
  return detail::any_awaiter{};
}

/// As when_all, but returns an outcome for each child, in a tuple or a vector, and a failure does not stop
/// the others. A child that is stopped ends as in as_outcome(). Throws only std::bad_alloc, for the
/// vectors of a range, and what moving an outcome throws. Needs no stop source.
///
///     auto [a, b] = co_await coracle::when_all_ready(first(), second());
///     if (a.has_value()) use(std::move(a).get());
template <class... Works>
  requires(detail::work<Works> && ...) && (sizeof...(Works) != 0)
auto when_all_ready(Works&&... each) {
  using children = std::tuple<detail::joined_sibling_t<detail::work_t<Works>>...>;
  return detail::when_all_ready_operation<children>{std::in_place,
                                                    detail::as_awaitable(static_cast<Works&&>(each))...};
}
template <detail::awaitable_range Range>
  requires(!detail::work<Range>)
auto when_all_ready(Range&& range) {
  auto children = detail::siblings_from_range<detail::joined_sibling_t, std::remove_cvref_t<Range>>(
      static_cast<Range&&>(range));
  return detail::when_all_ready_operation<decltype(children)>{std::in_place, std::move(children)};
}
template <class... Ts>
auto when_all_ready(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_work<Ts> && ...),
      "when_all_ready needs awaitables, or one range of them: calls that return tasks, or std::move of "
      "tasks that have a name, or functions that return them");
  static_assert(sizeof...(Ts) != 0, "when_all_ready() of nothing: pass at least one awaitable");
  return detail::any_awaiter{};
}
}  // namespace coracle
