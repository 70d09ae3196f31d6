// coracle/compose/for_each_concurrent.hpp -- a coroutine per element of a range, with a concurrency limit.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/run_children.hpp>

namespace coracle {
/// Calls `function(element)` for each element of `range` in order, and awaits what it returns, with at most
/// `limit` of these awaitables running at the same time.
///
///     auto visit = [&](const std::string& url) { return fetch_and_store(url); };
///     co_await coracle::for_each_concurrent(urls, 8, visit);
///
/// The range is advanced as places become free, so it may be endless or compute its elements. An element that
/// does not stay in the range, like that of an input iterator, is kept until its awaitable has ended, and
/// passed as an rvalue. An rvalue range is moved in, an lvalue referred to; the function is moved in. The
/// results of the awaitables are dropped. Requires: limit >= 1.
///
/// Prefer as_completed(), which has no limit, where the results matter, and when_all for a few awaitables.
/// Order         the function is called in the order of the range, on the executor of the awaiting coroutine:
///               at first `limit` times, then once for each awaitable that has ended.
/// Resumes on    the executor of the awaiting coroutine; outside any executor, where an awaitable has ended.
/// Cancellation  before: the range is not read. During: no more awaitables are started, and the running ones
///               are stopped and joined; operation_cancelled if not all elements were completed. An awaitable
///               that ends cancelled stops the rest with its own reason, unlike in when_all.
/// Exceptions    the first one, from an awaitable, the function or the range, stops the rest with the reason
///               sibling_failed, as in when_all, and is thrown when all have ended; several are thrown as an
///               error_group.
/// Cost          `limit` places of 72 bytes; for each element, what the function allocates and an atomic
///               operation.
template <class Range, class Function>
  requires(detail::makes_children<Range, Function>)
auto for_each_concurrent(Range&& range, std::size_t limit, Function&& function) {
  return detail::run_children<Range, std::decay_t<Function>>(
      static_cast<Range&&>(range), limit, static_cast<Function&&>(function), [](auto&&...) noexcept {});
}
template <class Range, class Function>
auto for_each_concurrent(Range&&, std::size_t, Function&&) {
  if constexpr (!detail::plain_range<Range>) {
    static_assert(
        !sizeof(std::decay_t<Range>*),
        "for_each_concurrent(range, limit, function) needs a range; of an async_generator or a channel: "
        "source | streams::map(function) | streams::buffered(limit) | streams::for_each(consume)");
  } else {
    static_assert(
        !sizeof(std::decay_t<Range>*),
        "for_each_concurrent(range, limit, function) needs a function that takes an element of the range and "
        "returns an awaitable, such as a task");
  }
  return detail::any_awaiter{};
}
template <class Range, class Function>
  requires(!std::is_convertible_v<Function, std::size_t>)
auto for_each_concurrent(Range&&, Function&&, std::size_t) {
  static_assert(!sizeof(std::decay_t<Range>*),
                "the limit comes before the function: for_each_concurrent(range, limit, function)");
  return detail::any_awaiter{};
}
template <class Range, class Function>
auto for_each_concurrent(std::size_t, Range&&, Function&&) {
  static_assert(!sizeof(std::decay_t<Range>*),
                "the range comes before the limit: for_each_concurrent(range, limit, function)");
  return detail::any_awaiter{};
}
template <class Range, class Function>
auto for_each_concurrent(Range&&, Function&&) {
  static_assert(!sizeof(std::decay_t<Range>*),
                "for_each_concurrent needs a concurrency limit: for_each_concurrent(range, limit, function)");
  return detail::any_awaiter{};
}
}  // namespace coracle
