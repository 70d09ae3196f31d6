// coracle/compose/when_any.hpp -- await the first result or success of several awaitables, and stop the
// others.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/siblings_operation.hpp>
#include <initializer_list>
#include <variant>

namespace coracle {
/// The result of when_any() for a range: the index of the winner, and its result.
template <class T>
struct when_any_result {
  when_any_result(std::size_t which, T&& result) : index(which), value(static_cast<T&&>(result)) {}
  std::size_t index;
  T value;
};

namespace detail {
template <siblings::rule Rule, class Children>
class when_any_operation;

template <siblings::rule Rule, class... Awaitables>
class [[nodiscard("when_any does nothing until it is awaited")]]
when_any_operation<Rule, std::tuple<sibling<Awaitables>...>>
    : public siblings_operation<Rule, std::tuple<sibling<Awaitables>...>> {
  using base = siblings_operation<Rule, std::tuple<sibling<Awaitables>...>>;
  using result_type = std::variant<element_t<typename sibling<Awaitables>::result_type>...>;

 public:
  using base::base;
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    this->leave_subtree();
    return this->cancelled();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept { return this->failure(); }
  result_type await_resume() {
    this->throw_failure();
    return result_of_winner<0>();
  }

 private:
  template <std::size_t Index>
  result_type result_of_winner() {
    auto& one = std::get<Index>(this->children());
    if constexpr (Index + 1 != sizeof...(Awaitables)) {
      if (one.name() != this->winner()) return result_of_winner<Index + 1>();
    }
    if constexpr (std::is_same_v<std::variant_alternative_t<Index, result_type>, void_value>) {
      return result_type{std::in_place_index<Index>};  // g++ 16 warns of an empty object that is copied
    } else {
      return result_type{std::in_place_index<Index>, detail::element_of(one)};
    }
  }
};

template <siblings::rule Rule, class Awaitable, class Allocator>
class [[nodiscard("when_any does nothing until it is awaited")]]
when_any_operation<Rule, std::vector<sibling<Awaitable>, Allocator>>
    : public siblings_operation<Rule, std::vector<sibling<Awaitable>, Allocator>> {
  using children_type = std::vector<sibling<Awaitable>, Allocator>;
  using base = siblings_operation<Rule, children_type>;
  using result_type = when_any_result<element_t<typename sibling<Awaitable>::result_type>>;

 public:
  explicit when_any_operation(std::in_place_t, children_type&& children)
      : base(std::in_place, std::move(children)) {
    CORACLE_REQUIRE(!this->children().empty(),
                    "when_any or when_any_succeeds of an empty range: there is nothing to wait for");
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    this->leave_subtree();
    return this->cancelled();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept { return this->failure(); }
  result_type await_resume() {
    this->throw_failure();
    children_type& all = this->children();
    const auto& winner =
        static_cast<const sibling<Awaitable>&>(*static_cast<const sibling_base*>(this->winner()));
    const auto index = static_cast<std::size_t>(&winner - all.data());
    return result_type{index, detail::element_of(all[index])};
  }
};

template <siblings::rule Rule, class... Works>
auto make_race(Works&&... each) {
  using children = std::tuple<sibling<work_t<Works>>...>;
  return when_any_operation<Rule, children>{std::in_place,
                                            detail::as_awaitable(static_cast<Works&&>(each))...};
}
template <siblings::rule Rule, class Range>
auto make_race_of_range(Range&& range) {
  auto children = siblings_from_range<sibling, std::remove_cvref_t<Range>>(static_cast<Range&&>(range));
  return when_any_operation<Rule, decltype(children)>{std::in_place, std::move(children)};
}
}  // namespace detail

/// Awaits all of its arguments concurrently until the first one ends; stops the others and waits for them.
/// Returns the result of the first in a std::variant, at its index among the arguments, with void_value for
/// work without a result; for a range, a when_any_result. References are returned as by when_all().
///
///     auto first = co_await coracle::when_any(receive(socket), shutdown);  // a task and an event
///     if (first.index() == 0) handle(std::get<0>(first));
///
/// An rvalue is moved in; an lvalue, such as an event, is referred to. An argument may also be a function
/// that returns an awaitable, as with when_all. A child that is cancelled leaves the race.
/// Order         the children start one after another on the awaiting thread, each until it first suspends;
///               once one has ended, the rest are not started. Where more than 16 such starts are nested, the
///               children start before the outermost of them returns.
/// Resumes on    the executor of the awaiting coroutine; without one, wherever the last child ended.
/// Cancellation  losers are stopped with the reason lost_race. A loser that waits is destroyed where it
///               waits: destructors run, handlers do not, unless it is below throwing(). A result that a
///               loser still produces is dropped. A stop request from outside stops all;
///               operation_cancelled is thrown, for its reason, if then no child produces a result.
/// Exceptions    an error ends the race as a value does, and is thrown. A loser's error is thrown, too, and
///               replaces the winner's result; several are thrown as an error_group. std::bad_alloc as with
///               when_all; for a range also for its vector, before any child starts.
/// Threads       children may end on any threads.
/// Cost          a stop source, if a child waits; one vector for a range; two atomic operations per child.
///               Leading children that are an event, a channel's recv(), the acquisition of async_semaphore
///               permits or rate_limiter tokens, or the lock of an async_mutex, are tried first, in order: if
///               one need not wait, nothing is started.
template <class... Works>
  requires(detail::work<Works> && ...) && (sizeof...(Works) != 0)
auto when_any(Works&&... each) {
  return detail::make_race<detail::siblings::rule::any>(static_cast<Works&&>(each)...);
}
/// Requires: not empty.
template <detail::awaitable_range Range>
  requires(!detail::work<Range>)
auto when_any(Range&& range) {
  return detail::make_race_of_range<detail::siblings::rule::any>(static_cast<Range&&>(range));
}
template <class T>
  requires(!std::is_copy_constructible_v<T>)
auto when_any(std::initializer_list<T>) {
  static_assert(detail::never<T>,
                "a braced list would copy its elements: pass them as arguments, or in a std::vector filled "
                "by push_back()");
  return detail::any_awaiter{};
}
template <class... Ts>
auto when_any(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_work<Ts> && ...),
      "when_any needs awaitables, or one range of them: calls that return tasks, or std::move of tasks "
      "that have a name, or functions that return them");
  static_assert(sizeof...(Ts) != 0, "when_any() of nothing: pass at least one awaitable");
  return detail::any_awaiter{};
}

/// As when_any, but a child that fails leaves the race, too: the first child that returns a value wins, and
/// the errors of the others are dropped. If none returns a value, all errors are thrown.
///
///     const std::string page = (co_await coracle::when_any_succeeds(std::move(mirrors))).value;
///
/// Prefer hedge() where a second attempt should start only if the first is slow or fails.
/// Cancellation  as when_any, but an operation of this library that loses may have taken effect, as a task
///               may: what it has received or locked is dropped. For channels and locks use when_any or
///               select.
/// Exceptions    if no child returns a value: that of the child that failed, or an error_group if several
///               did; operation_cancelled if none failed. std::bad_alloc as when_any.
/// Cost          as when_any; every child before the first value is started.
template <class... Works>
  requires(detail::work<Works> && ...) && (sizeof...(Works) != 0)
auto when_any_succeeds(Works&&... each) {
  return detail::make_race<detail::siblings::rule::success>(static_cast<Works&&>(each)...);
}
/// Requires: not empty.
template <detail::awaitable_range Range>
  requires(!detail::work<Range>)
auto when_any_succeeds(Range&& range) {
  return detail::make_race_of_range<detail::siblings::rule::success>(static_cast<Range&&>(range));
}
template <class... Ts>
auto when_any_succeeds(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_work<Ts> && ...),
      "when_any_succeeds needs awaitables, or one range of them: calls that return tasks, or std::move of "
      "tasks that have a name, or functions that return them");
  static_assert(sizeof...(Ts) != 0, "when_any_succeeds() of nothing: pass at least one awaitable");
  return detail::any_awaiter{};
}
}  // namespace coracle
