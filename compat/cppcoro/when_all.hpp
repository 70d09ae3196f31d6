// cppcoro/when_all.hpp -- await several awaitables at the same time, and get their results.
// SPDX-License-Identifier: MIT
#pragma once
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/detail/void_value.hpp>
#include <cppcoro/fmap.hpp>
#include <cppcoro/is_awaitable.hpp>
#include <cppcoro/when_all_ready.hpp>
#include <tuple>
#include <vector>

namespace cppcoro {
namespace detail {
// Takes the children as the await gave them: the results of an rvalue are moved out. Between braces they are
// asked in order, so that the first exception is the one that is thrown.
struct tuple_of_results {
  template <class Tasks>
  auto operator()(Tasks&& tasks) const {
    return std::apply(
        [](auto&&... each) {
          return std::tuple<
              std::unwrap_ref_decay_t<decltype(static_cast<decltype(each)>(each).non_void_result())>...>{
              static_cast<decltype(each)>(each).non_void_result()...};
        },
        static_cast<Tasks&&>(tasks));
  }
};
template <class Result>
struct vector_of_results {
  using element = std::conditional_t<std::is_lvalue_reference_v<Result>,
                                     std::reference_wrapper<std::remove_reference_t<Result>>,
                                     std::remove_reference_t<Result>>;
  template <class Tasks>
  auto operator()(Tasks&& tasks) const {
    if constexpr (std::is_void_v<Result>) {
      for (auto& each : tasks) each.result();
    } else {
      std::vector<element> results;
      results.reserve(tasks.size());
      for (auto& each : tasks) {
        if constexpr (std::is_lvalue_reference_v<Tasks>) {
          results.emplace_back(each.result());
        } else {
          results.emplace_back(std::move(each).result());
        }
      }
      return results;
    }
  }
};
}  // namespace detail

/// Starts all, waits until all have ended, and gives a tuple of their results; detail::void_value stands for
/// none. An argument is moved in, or copied; with std::ref it is awaited where it is.
///
///     auto [a, b] = co_await cppcoro::when_all(first(), second());
///
/// Prefer coracle::when_all in new code: it needs no frame for a child.
/// Order       started one after the other on the awaiting thread, each until it first suspends.
/// Resumes on  the executor of the awaiting coroutine; if it has none, wherever the last child ended.
/// Exceptions  after all have ended, that of the first in the order given that has one.
/// Cost        one frame a child.
template <class First, class... Rest>
  requires detail::awaitable_argument<First> && (detail::awaitable_argument<Rest> && ...)
[[nodiscard]] auto when_all(First&& first, Rest&&... rest) {
  return cppcoro::fmap(detail::tuple_of_results{},
                       cppcoro::when_all_ready(static_cast<First&&>(first), static_cast<Rest&&>(rest)...));
}
[[nodiscard]] inline auto when_all() {
  return cppcoro::fmap(detail::tuple_of_results{}, cppcoro::when_all_ready());
}
/// Gives a vector of results; of std::reference_wrapper, if they are references; nothing, if there are none.
template <class Awaitable>
  requires detail::awaitable_argument<Awaitable>
[[nodiscard]] auto when_all(std::vector<Awaitable> all) {
  using result = coracle::await_result_t<detail::awaited_argument_t<Awaitable>>;
  return cppcoro::fmap(detail::vector_of_results<result>{}, cppcoro::when_all_ready(std::move(all)));
}
}  // namespace cppcoro
