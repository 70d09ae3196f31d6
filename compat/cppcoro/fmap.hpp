// cppcoro/fmap.hpp -- apply a function to the result of an awaitable, or to each element of a generator.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/call.hpp>
#include <coracle/core/awaitable.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/detail/fmap_tag.hpp>
#include <cppcoro/is_awaitable.hpp>
#include <utility>

namespace cppcoro {
namespace detail {
/// `Function` and `Awaitable` are references to what the fmap_awaitable holds.
template <class Function, class Awaitable>
class fmap_awaiter {
  using awaiter_type = coracle::awaiter_type_t<Awaitable>;

 public:
  fmap_awaiter(Function&& function, Awaitable&& value)
      : function_(static_cast<Function&&>(function)),
        awaiter_(coracle::get_awaiter(static_cast<Awaitable&&>(value))) {}

  bool await_ready() { return awaiter_.await_ready() ? true : false; }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> suspended)
      -> decltype(std::declval<std::remove_reference_t<awaiter_type>&>().await_suspend(suspended)) {
    return awaiter_.await_suspend(suspended);
  }
  decltype(auto) await_resume() {
    if constexpr (std::is_void_v<decltype(awaiter_.await_resume())>) {
      awaiter_.await_resume();
      return coracle::detail::call(static_cast<Function&&>(function_));
    } else {
      return coracle::detail::call(static_cast<Function&&>(function_), awaiter_.await_resume());
    }
  }

 private:
  Function&& function_;
  awaiter_type awaiter_;
};

template <class Function, class Awaitable>
class [[nodiscard("fmap does nothing until it is awaited")]] fmap_awaitable {
 public:
  template <class F, class A>
  explicit fmap_awaitable(F&& function, A&& value)
      : function_(static_cast<F&&>(function)), value_(static_cast<A&&>(value)) {}

  auto operator co_await() const& {
    return fmap_awaiter<const Function&, const Awaitable&>{function_, value_};
  }
  auto operator co_await() & { return fmap_awaiter<Function&, Awaitable&>{function_, value_}; }
  auto operator co_await() && {
    return fmap_awaiter<Function&&, Awaitable&&>{std::move(function_), std::move(value_)};
  }

 private:
  Function function_;
  Awaitable value_;
};

// Makes a constraint stronger than that of coracle's function of the same name, so that an argument of one of
// coracle's types does not make an unqualified call ambiguous.
template <class T>
concept by_cppcoro = true;
}  // namespace detail

/// An awaitable of `function(co_await value)`. It holds copies of both, so it may be awaited where they are
/// gone, and more than once if `value` may.
///
///     auto length = cppcoro::fmap([](const std::string& s) { return s.size(); }, read(path));
///     std::size_t n = co_await length;
template <class Function, coracle::awaitable Awaitable>
  requires detail::by_cppcoro<Awaitable>
auto fmap(Function&& function, Awaitable&& value) {
  using result = detail::fmap_awaitable<std::decay_t<Function>, std::remove_cvref_t<Awaitable>>;
  return result(static_cast<Function&&>(function), static_cast<Awaitable&&>(value));
}

/// What `value | fmap(function)` applies to the value.
template <class Function>
struct fmap_transform {
  explicit fmap_transform(Function&& f) : func(static_cast<Function&&>(f)) {}
  Function func;
};
template <class Function>
auto fmap(Function&& function) {
  return fmap_transform<Function>{static_cast<Function&&>(function)};
}

namespace detail {
template <class Function, coracle::awaitable Awaitable>
auto mapped(fmap_tag, Function&& function, Awaitable&& value) {
  return cppcoro::fmap(static_cast<Function&&>(function), static_cast<Awaitable&&>(value));
}
}  // namespace detail

/// Any awaitable, or a generator: `request() | fmap(parse) | fmap(count)`.
template <class T, class Function>
auto operator|(T&& value, fmap_transform<Function>&& transform) {
  return mapped(detail::fmap_tag{}, static_cast<Function&&>(transform.func), static_cast<T&&>(value));
}
template <class T, class Function>
auto operator|(T&& value, const fmap_transform<Function>& transform) {
  return mapped(detail::fmap_tag{}, transform.func, static_cast<T&&>(value));
}
template <class T, class Function>
auto operator|(T&& value, fmap_transform<Function>& transform) {
  return mapped(detail::fmap_tag{}, transform.func, static_cast<T&&>(value));
}
}  // namespace cppcoro
