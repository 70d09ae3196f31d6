// coracle/compose/when_all.hpp -- await several awaitables at the same time.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/callback_frame.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/result.hpp>
#include <coracle/core/task.hpp>
#include <coracle/detail/atomic.hpp>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

namespace coracle {
/// Stands for the result of an awaitable that has none.
struct void_value {};

namespace detail {
/// Counts children down and then continues the coroutine that awaits them. Every child has this one frame as
/// its continuation, so a child costs no wrapper coroutine.
//   [W1] count - 1  acq_rel  publish this child's result; the last one sees the results of all
class join_frame : public callback_frame {
 public:
  /// `children` plus one, for the coroutine that starts them.
  join_frame(std::size_t children, const environment* inherited) noexcept
      : callback_frame(&child_ended, inherited), running_(children + 1) {}

  void set_parent(std::coroutine_handle<> parent) noexcept { parent_.suspend(parent); }
  /// True: that was the last one.
  bool one_ended() noexcept { return running_.fetch_sub(1, memory_order_acq_rel) == 1; } /*W1*/

 private:
  static void child_ended(callback_frame* self) {
    auto* const join = static_cast<join_frame*>(self);
    if (!join->one_ended()) return;
    if (join->parent_.home == current_executor()) {
      resume_on_return(join->parent_.handle);
    } else {
      join->parent_.wake();
    }
  }

  atomic<std::size_t> running_;
  waiter parent_;
};

/// One child of a when_all: the awaitable, then its awaiter.
template <class Awaitable>
class child {
  using awaiter_type = awaiter_type_t<Awaitable>;

 public:
  using result_type = await_result_t<Awaitable>;

  explicit child(Awaitable&& value) : value_(static_cast<Awaitable&&>(value)) {}
  child(child&& other) : value_(static_cast<Awaitable&&>(other.value_)) {}

  /// False: completed at once.
  bool start(join_frame& join) {
#if CORACLE_EXCEPTIONS()
    try {
#endif
      slot_.emplace(static_cast<Awaitable&&>(value_));
      if (slot_->get.await_ready()) return false;
      return suspend_into(slot_->get, join.handle());
#if CORACLE_EXCEPTIONS()
    } catch (...) {
      start_error_ = std::current_exception();
      return false;
    }
#endif
  }
  result_type result() {
    if (start_error_) [[unlikely]]
      rethrow(start_error_);
    return slot_->get.await_resume();
  }

 private:
  // Holds the awaiter whether get_awaiter returns it by value or by reference.
  struct awaiter_slot {
    explicit awaiter_slot(Awaitable&& value) : get(get_awaiter(static_cast<Awaitable&&>(value))) {}
    awaiter_type get;
  };
  Awaitable value_;
  std::optional<awaiter_slot> slot_;
  std::exception_ptr start_error_;
};

/// A task is its own awaiter: eight bytes a child.
template <class T>
class child<task<T>> {
 public:
  using result_type = T;

  explicit child(task<T>&& value) noexcept : task_(std::move(value)) {}

  bool start(join_frame& join) {
    auto a = std::move(task_).operator co_await();
    return !a.await_ready() && suspend_into(a, join.handle());
  }
  T result() { return std::move(task_).operator co_await().await_resume(); }

 private:
  task<T> task_;
};

template <class Child>
auto outcome_of(Child& ended) noexcept {
  outcome<typename Child::result_type> end;
#if CORACLE_EXCEPTIONS()
  try {
#endif
    if constexpr (std::is_void_v<typename Child::result_type>) {
      ended.result();
      end.emplace();
    } else {
      end.emplace(ended.result());
    }
#if CORACLE_EXCEPTIONS()
  } catch (...) {
    end.emplace_current_exception();
  }
#endif
  return end;
}

/// What stands for a child's result in a tuple or a vector.
template <class T>
using element_t = std::conditional_t<
    std::is_void_v<T>, void_value,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;

template <class Child>
element_t<typename Child::result_type> element_of(Child& ended) {
  if constexpr (std::is_void_v<typename Child::result_type>) {
    ended.result();
    return {};
  } else {
    return ended.result();
  }
}

/// Starts all children in order and suspends until all have ended. `Children` is a tuple or a vector.
template <class Children>
class join_operation {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_NOINLINE_SUSPEND()
  bool await_suspend(std::coroutine_handle<Promise> parent) {
    const environment* inherited = nullptr;
    if constexpr (requires { parent.promise().get_environment(); })
      inherited = parent.promise().get_environment();
    for_each([this](auto&) { ++count_; });
    join_.emplace(count_, inherited);
    join_->set_parent(parent);
    for_each([this](auto& one) {
      if (!one.start(*join_)) join_->one_ended();
    });
    return !join_->one_ended();
  }

 protected:
  explicit join_operation(Children&& children) : children_(std::move(children)) {}
  join_operation(join_operation&& other) : children_(std::move(other.children_)) {}

  template <class F>
  void for_each(F f) {
    if constexpr (requires { children_.begin(); }) {
      for (auto& one : children_) f(one);
    } else {
      std::apply([&f](auto&... each) { (f(each), ...); }, children_);
    }
  }
  /// `f` of each child, in a tuple or a vector as the children are.
  template <class F>
  auto collect(F f) {
    if constexpr (requires { children_.begin(); }) {
      std::vector<decltype(f(*children_.begin()))> results;
      results.reserve(children_.size());
      for (auto& one : children_) results.push_back(f(one));
      return results;
    } else {
      return std::apply([&f](auto&... each) { return std::tuple<decltype(f(each))...>{f(each)...}; },
                        children_);
    }
  }

 private:
  Children children_;
  std::size_t count_ = 0;
  std::optional<join_frame> join_;
};

template <class Children>
class [[nodiscard("when_all does nothing until it is awaited")]] when_all_operation
    : public join_operation<Children> {
 public:
  explicit when_all_operation(Children&& children) : join_operation<Children>(std::move(children)) {}
  auto await_resume() {
    if constexpr (requires(Children& c) { c.begin()->result(); }) {
      if constexpr (std::is_void_v<decltype(std::declval<Children&>().begin()->result())>) {
        this->for_each([](auto& one) { one.result(); });
      } else {
        return this->collect([](auto& one) { return element_of(one); });
      }
    } else {
      return this->collect([](auto& one) { return element_of(one); });
    }
  }
};

template <class Children>
class [[nodiscard("when_all_ready does nothing until it is awaited")]] when_all_ready_operation
    : public join_operation<Children> {
 public:
  explicit when_all_ready_operation(Children&& children) : join_operation<Children>(std::move(children)) {}
  auto await_resume() noexcept {
    return this->collect([](auto& one) { return outcome_of(one); });
  }
};

// A named range is copied, so its elements must allow that; tasks do not.
template <class Range>
concept awaitable_range = requires(std::remove_cvref_t<Range>& range) {
  { std::move(*std::begin(range)) } -> awaitable;
  std::end(range);
  requires !std::is_lvalue_reference_v<Range> ||
               std::copy_constructible<std::remove_cvref_t<decltype(*std::begin(range))>>;
};

template <class... Awaitables>
std::tuple<child<Awaitables>...> children_from(Awaitables&&... each) {
  return std::tuple<child<Awaitables>...>{child<Awaitables>{static_cast<Awaitables&&>(each)}...};
}
template <class Range>
auto children_from_range(Range&& range) {
  using one = std::remove_cvref_t<decltype(*std::begin(range))>;
  std::vector<child<one>> children;
  if constexpr (requires { range.size(); }) children.reserve(range.size());
  for (auto&& each : range) children.emplace_back(std::move(each));
  return children;
}

}  // namespace detail

/// Awaits all at the same time and gives their results: a tuple, with void_value where there is none, or,
/// from a range, a vector (nothing, if they return void). References come as std::reference_wrapper.
///
///     auto [a, b] = co_await coracle::when_all(first(), second());
///     std::vector<int> sizes = co_await coracle::when_all(std::move(tasks));
///
/// Order         started one after the other on the awaiting thread, each until it first suspends; for work
///               on several threads, put each on a pool with schedule_on().
/// Resumes on    the executor of the awaiting coroutine; if it has none, wherever the last child ended.
/// Cancellation  every child inherits the environment. It always waits for all of them.
/// Exceptions    after all have ended, that of the first child, in the order given, that has one.
/// Threads       children may end on any threads.
/// Cost          no allocation for the variadic form, one vector for a range; one atomic operation a child. A
///               when_all inside a child of another takes stack, as a function call does: 0.8 KiB a level
///               with g++ -O0, 2.1 KiB with clang -O0 under ASan.
template <class... Awaitables>
  requires(awaitable<Awaitables> && ...) && (sizeof...(Awaitables) != 0)
auto when_all(Awaitables&&... each) {
  using children = std::tuple<detail::child<Awaitables>...>;
  return detail::when_all_operation<children>{detail::children_from(static_cast<Awaitables&&>(each)...)};
}
template <detail::awaitable_range Range>
  requires(!awaitable<Range>)
auto when_all(Range&& range) {
  auto children = detail::children_from_range(std::remove_cvref_t<Range>(static_cast<Range&&>(range)));
  return detail::when_all_operation<decltype(children)>{std::move(children)};
}
template <class... Ts>
detail::any_awaiter when_all(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_awaitable<Ts> && ...),
      "when_all needs awaitables, or one range of them: calls that return tasks, or std::move of tasks "
      "that have a name");
  static_assert(sizeof...(Ts) != 0, "when_all() of nothing: pass at least one awaitable");
  return {};
}

/// As when_all, but gives an outcome for each child and never throws: a tuple of outcomes, or a vector.
template <class... Awaitables>
  requires(awaitable<Awaitables> && ...) && (sizeof...(Awaitables) != 0)
auto when_all_ready(Awaitables&&... each) {
  using children = std::tuple<detail::child<Awaitables>...>;
  return detail::when_all_ready_operation<children>{
      detail::children_from(static_cast<Awaitables&&>(each)...)};
}
template <detail::awaitable_range Range>
  requires(!awaitable<Range>)
auto when_all_ready(Range&& range) {
  auto children = detail::children_from_range(std::remove_cvref_t<Range>(static_cast<Range&&>(range)));
  return detail::when_all_ready_operation<decltype(children)>{std::move(children)};
}
template <class... Ts>
detail::any_awaiter when_all_ready(Ts&&...) {
  static_assert(
      sizeof...(Ts) == 0 || (detail::is_awaitable<Ts> && ...),
      "when_all_ready needs awaitables, or one range of them: calls that return tasks, or std::move of "
      "tasks that have a name");
  static_assert(sizeof...(Ts) != 0, "when_all_ready() of nothing: pass at least one awaitable");
  return {};
}
}  // namespace coracle
