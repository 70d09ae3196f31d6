// coracle/compose/detail/run_children.hpp -- a child for each element of a range, with a concurrency limit.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/detail/child_group.hpp>
#include <deque>
#include <iterator>
#include <optional>

namespace coracle::detail {
template <class Range>
using range_iterator_t = decltype(std::begin(std::declval<std::remove_reference_t<Range>&>()));
template <class Range>
using range_reference_t = decltype(*std::declval<range_iterator_t<Range>&>());
/// No sequence of awaited elements, whose begin() returns no iterator.
template <class Range>
concept plain_range = requires(std::remove_reference_t<Range>& range) {
  typename range_reference_t<Range>;
  std::begin(range) == std::end(range);
};

/// Where an element is while its child runs: in the range, if it keeps its place there; otherwise here.
template <class Range>
class element_slot {
  using reference = range_reference_t<Range>;
  using value = std::remove_cvref_t<reference>;
  static constexpr bool stays_in_range =
      std::is_lvalue_reference_v<reference> && std::forward_iterator<range_iterator_t<Range>>;
  using passed = std::conditional_t<stays_in_range, reference, value&&>;

 public:
  template <class Function>
    requires requires(Function& function, passed element) { function(static_cast<passed>(element)); }
  decltype(auto) apply(Function& function, reference&& element) {
    if constexpr (stays_in_range) {
      return function(element);
    } else {
      return function(static_cast<value&&>(kept_.emplace(static_cast<reference&&>(element))));
    }
  }

 private:
  [[no_unique_address]] std::conditional_t<stays_in_range, nothing, std::optional<value>> kept_;
};
/// The type that `Function` returns for an element.
template <class Range, class Function>
using made_by_t = decltype(std::declval<element_slot<Range>&>().apply(
    std::declval<Function&>(), std::declval<range_reference_t<Range>>()));
template <class Range, class Function>
concept makes_children = plain_range<Range> && awaitable<made_by_t<Range, std::decay_t<Function>>>;

/// The children for the elements of a range, one after another.
template <class Range, class Function>
class range_children {
  using made = made_by_t<Range, Function>;
  using child_type =
      child<std::conditional_t<std::is_lvalue_reference_v<made>, made, std::remove_cvref_t<made>>>;

 public:
  using result_type = typename child_type::result_type;
  struct one : group_child {
    explicit one(child_group& its_group) noexcept : group_child(its_group) {}
    element_slot<Range> element;
    std::optional<child_type> work;
    one* next_free = nullptr;
  };

  range_children(Range& range, Function& function, const parent_of_children& parent)
      : group(parent), function_(function), at_(std::begin(range)), end_(std::end(range)) {}

  /// The iterator advances only here, when the next element is needed.
  [[nodiscard]] bool at_end() {
    if (detail::exchange(used_, false)) ++at_;
    return at_ == end_;
  }
  /// Starts further children, in order, until `limit` run, or until one has ended if `heeds_ends`.
  void start_until(std::size_t limit, bool heeds_ends) {
    CORACLE_TRY() {
      while (group.running() != limit && !group.is_stopping() && !(heeds_ends && group.has_ended()) &&
             !at_end()) {
        start_next();
      }
    }
    CORACLE_CATCH_ALL() { group.keep_current_exception(); }
  }
  [[nodiscard]] bool none_started() const noexcept { return all_.empty(); }
  static one& from(group_child& ended) noexcept { return static_cast<one&>(ended); }
  /// Frees its place for another child.
  void drop(one& ended) noexcept {
    ended.work.reset();
    ended.next_free = detail::exchange(free_, &ended);
  }

  child_group group;

 private:
  void start_next() {
    if (!free_) free_ = &all_.emplace_back(group);
    one& next = *free_;
    used_ = true;
    next.work.emplace(next.element.apply(function_, *at_));
    free_ = next.next_free;
    group.start(next, *next.work);
  }

  Function& function_;
  range_iterator_t<Range> at_;
  decltype(std::end(std::declval<std::remove_reference_t<Range>&>())) end_;
  bool used_ = false;  // the element at at_ has its child
  std::deque<one> all_;
  one* free_ = nullptr;
};

/// What `take` returns when called with the value of a child.
template <class T, class Take>
struct taking : std::invoke_result<Take&, T> {};
template <class Take>
struct taking<void, Take> : std::invoke_result<Take&> {};
template <class T, class Take>
using taking_t = typename taking<T, Take>::type;

/// Passes the value of a child, which has one, to `take`. Returns true to continue. The coroutine overload is
/// for a `take` that must be awaited.
template <class Child, class Take>
bool take_now([[maybe_unused]] Child& ended, Take& take) {
  using value = typename Child::result_type;
  constexpr bool returns_bool = !std::is_void_v<taking_t<value, Take>>;
  if constexpr (std::is_void_v<value>) {
    if constexpr (returns_bool)
      return take();
    else
      take();
  } else {
    if constexpr (returns_bool)
      return take(ended.result());
    else
      take(ended.result());
  }
  return true;
}
template <class Child, class Take>
task<bool> take_and_wait([[maybe_unused]] Child& ended, Take& take) {
  using value = typename Child::result_type;
  constexpr bool returns_bool = !std::is_void_v<await_result_t<taking_t<value, Take>>>;
  if constexpr (std::is_void_v<value>) {
    if constexpr (returns_bool)
      co_return co_await take();
    else
      co_await take();
  } else {
    value mine = ended.result();
    if constexpr (returns_bool)
      co_return co_await take(static_cast<value&&>(mine));
    else
      co_await take(static_cast<value&&>(mine));
  }
  co_return true;
}

/// `Range` is a reference where the caller passed an lvalue. `take` is called for each child that succeeds,
/// one after another; when it returns false, the others are stopped.
template <class Range, class Function, class Take>
task<> run_children(Range range, std::size_t limit, Function function, Take take) {
  CORACLE_REQUIRE(limit != 0, "a concurrency limit of 0 never starts a child: it has to be at least 1");
  using children_type = range_children<Range, Function>;
  using taken = taking_t<typename children_type::result_type, Take>;
  const parent_of_children parent = co_await parent_of_children();
  if (const stop_reason why = parent.inherited().stop.reason(); why != stop_reason::none)
    co_await ends_as_stopped(why);
  children_type children{range, function, parent};
  child_group& group = children.group;
  bool enough = false;
  for (;;) {
    co_await child_group::stack_for_starts();
    children.start_until(limit, !awaitable<taken>);
    if (group.running() == 0) {
      if (children.none_started()) co_await counted_as_ready{};  // otherwise each was awaited
      break;
    }
    auto& ended = children.from(co_await group.next());
    if (!ended.work->finish()) {
      const outcome<void> failure = ended.work->failure();
      if (!enough || failure.has_error()) group.keep(failure);
    } else if (!enough && !group.has_failed()) {
      if constexpr (awaitable<taken>) {
        auto goes_on = co_await detail::passing(detail::take_and_wait(*ended.work, take));
        if (goes_on.has_value()) [[likely]] {
          enough = !std::move(goes_on).get();
        } else {
          outcome<void> failure;
          detail::copy_failure(goes_on, failure);
          group.keep(failure);
        }
      } else {
        CORACLE_TRY() { enough = !detail::take_now(*ended.work, take); }
        CORACLE_CATCH_ALL() { group.keep_current_exception(); }
      }
      if (enough) group.stop(stop_reason::lost_race);
    }
    children.drop(ended);
  }
  if (!enough && !group.has_failed() && !children.at_end()) group.keep_stop();
  outcome<void> end = group.finish();
  co_await ends_unless_value(end);
  end.get();
}
}  // namespace coracle::detail
