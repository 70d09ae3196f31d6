// coracle/compose/detail/gathered_results.hpp -- children and their results, as a tuple or a vector.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/element.hpp>
#include <coracle/compose/detail/siblings.hpp>
#include <iterator>
#include <tuple>
#include <vector>

namespace coracle::detail {
template <class Sibling>
auto element_of([[maybe_unused]] Sibling&& ended)
    -> element_t<typename std::remove_cvref_t<Sibling>::result_type> {
  using result_type = typename std::remove_cvref_t<Sibling>::result_type;
  if constexpr (std::is_void_v<result_type>) {
    return {};
  } else {
    return ended.get().result();
  }
}

// A named range is copied, so its elements must be copyable; tasks are not.
template <class Range>
concept awaitable_range = requires(std::remove_cvref_t<Range>& range) {
  { std::move(*std::begin(range)) } -> awaitable;
  std::end(range);
  requires !std::is_lvalue_reference_v<Range> ||
               std::copy_constructible<std::remove_cvref_t<decltype(*std::begin(range))>>;
};

template <class F, class Tuple, std::size_t... At>
decltype(auto) apply_to_each(F& f, Tuple& elements, std::index_sequence<At...>) {
  return f(std::get<At>(elements)...);
}
/// As std::apply(), which takes far longer to compile: it finds out whether the call may throw.
template <class F, class... T>
decltype(auto) apply_to_each(F f, std::tuple<T...>& elements) {
  return detail::apply_to_each(f, elements, std::index_sequence_for<T...>());
}

/// A vector of `T` that uses the allocator of `Range` if that is a vector.
template <class Range, class T>
struct vector_beside {
  using type = std::vector<T>;
  template <class... Content>
  static type make(const Range&, Content... content) {
    return type(content...);
  }
};
template <class Element, class Allocator, class T>
struct vector_beside<std::vector<Element, Allocator>, T> {
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;
  using type = std::vector<T, allocator>;
  template <class... Content>
  static type make(const std::vector<Element, Allocator>& range, Content... content) {
    return type(content..., allocator(range.get_allocator()));
  }
};

template <template <class> class Sibling, class Range>
auto siblings_from_range(Range range) {
  using beside = vector_beside<Range, Sibling<std::remove_cvref_t<decltype(*std::begin(range))>>>;
  if constexpr (std::is_same_v<Range, typename beside::type>) {
    return range;
  } else {
    auto each_kept = beside::make(range);
    if constexpr (requires { range.size(); }) each_kept.reserve(range.size());
    for (auto&& each : range) each_kept.emplace_back(std::move(each));
    return each_kept;
  }
}

/// A range of what `f` returns for each child, from which a vector is constructed: it reads each element once
/// and takes the size first. With push_back() the vector would store its end in memory for each element.
template <class F, class Iterator>
class each_result {
 public:
  using iterator_category = std::forward_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using reference = decltype(std::declval<F&>()(detail::as_sibling(*std::declval<Iterator&>())));
  using value_type = reference;
  using pointer = void;

  each_result(F& f, Iterator at) noexcept : f_(&f), at_(at) {}
  reference operator*() const { return (*f_)(detail::as_sibling(*at_)); }
  each_result& operator++() noexcept {
    ++at_;
    return *this;
  }
  each_result operator++(int) noexcept { return each_result(*f_, at_++); }
  friend bool operator==(const each_result& a, const each_result& b) noexcept { return a.at_ == b.at_; }

 private:
  F* f_;
  Iterator at_;
};
}  // namespace coracle::detail
