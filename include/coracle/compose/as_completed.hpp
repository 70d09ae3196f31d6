// coracle/compose/as_completed.hpp -- the results of several awaitables, each as soon as it is available.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/run_children.hpp>
#include <limits>

namespace coracle {
namespace detail {
struct moves_element {
  template <class Awaitable>
  std::remove_reference_t<Awaitable>&& operator()(Awaitable&& element) const noexcept {
    return static_cast<std::remove_reference_t<Awaitable>&&>(element);
  }
};
/// Nothing that only converts to bool: the count that printf() returns does not say whether to continue.
template <class T>
concept nothing_or_bool = std::is_void_v<T> || std::same_as<std::remove_cvref_t<T>, bool>;
template <class T, class Consume>
concept consumes = requires {
  typename taking_t<T, Consume>;
} && (nothing_or_bool<taking_t<T, Consume>> || nothing_or_bool<await_result_t<taking_t<T, Consume>>>);
template <class Range>
concept movable_awaitables = !std::is_lvalue_reference_v<Range> && makes_children<Range, moves_element>;
template <class Range>
using completed_t = typename range_children<Range, moves_element>::result_type;
}  // namespace detail

/// Awaits all elements of the range `awaitables` concurrently, and calls `consume(result)` for each as soon
/// as it has completed; `consume()` for results of void. `consume` returns nothing, or a bool that says
/// whether to continue, or an awaitable of either, which is awaited before the next call.
///
///     auto print = [](const page& p) { std::puts(p.title.c_str()); };
///     co_await coracle::as_completed(std::move(fetches), print);
///
/// The loop over the results is a function rather than a generator, which can be dropped: everything started
/// here is joined, and the destructor of a generator cannot wait.
/// Order         started in the order of the range, on the executor of the awaiting coroutine; consumed
///               there, one at a time, in the order of completion.
/// Resumes on    the executor of the awaiting coroutine; outside any executor, where an awaitable has ended.
/// Cancellation  before: nothing is started. During: the awaitables are stopped and joined; results that are
///               complete by then are consumed. If `consume` returns false, the others are stopped with the
///               reason lost_race, like the losers of when_any. An awaitable that ends cancelled stops the
///               rest with its own reason, unlike in when_all.
/// Exceptions    the first one, from an awaitable or `consume`, stops the rest with the reason
///               sibling_failed, as in when_all, and is thrown when all have ended; several are thrown as an
///               error_group.
/// Cost          72 bytes and an atomic operation for each awaitable.
template <class Range, class Consume>
  requires(detail::movable_awaitables<Range> &&
           detail::consumes<detail::completed_t<Range>, std::decay_t<Consume>>)
auto as_completed(Range&& awaitables, Consume&& consume) {
  return detail::run_children<Range, detail::moves_element, std::decay_t<Consume>>(
      static_cast<Range&&>(awaitables), std::numeric_limits<std::size_t>::max(), {},
      static_cast<Consume&&>(consume));
}
template <class Range, class Consume>
auto as_completed(Range&&, Consume&&) {
  if constexpr (!detail::movable_awaitables<Range>) {
    static_assert(!sizeof(std::decay_t<Range>*),
                  "as_completed needs a range of awaitables that can be moved in: std::move(tasks)");
  } else {
    static_assert(
        !sizeof(std::decay_t<Consume>*),
        "as_completed(awaitables, consume) needs a function that takes the result of one, and returns "
        "nothing, a bool, or an awaitable of these");
  }
  return detail::any_awaiter{};
}
}  // namespace coracle
