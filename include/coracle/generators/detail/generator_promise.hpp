// coracle/generators/detail/generator_promise.hpp -- what the body of a generator may yield.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/view_interface.hpp>
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/generators/detail/elements_of.hpp>
#include <coracle/generators/detail/generator_state.hpp>
#include <coroutine>
#include <utility>
#include <version>
#if defined(__cpp_lib_generator)
#include <ranges>
#endif

namespace coracle {
template <class Ref, class Val = void, class Allocator = void>
class CORACLE_IN_A_REGISTER() generator;

namespace detail {
template <class T, class Yielded>
inline constexpr bool is_generator_of = false;
template <class Ref, class Val, class Allocator, class Yielded>
inline constexpr bool is_generator_of<generator<Ref, Val, Allocator>, Yielded> =
    std::is_same_v<typename generator<Ref, Val, Allocator>::yielded, Yielded>;

/// True for types of which an rvalue is yielded from a copy when the coroutine yields an lvalue.
template <class Yielded>
concept shown_from_copy =
    std::is_rvalue_reference_v<Yielded> &&
    std::constructible_from<std::remove_cvref_t<Yielded>, const std::remove_reference_t<Yielded>&>;

template <class Range, class Yielded>
concept range_of_yielded =
    std::ranges::input_range<Range> &&
    (converts_to<std::ranges::range_reference_t<Range>, Yielded> ||
     (shown_from_copy<Yielded> &&
      converts_to<std::ranges::range_reference_t<Range>, const std::remove_reference_t<Yielded>&>));

template <class Yielded, class Allocator, class Range>
generator<Yielded> each_of(std::allocator_arg_t, Allocator, Range& range) {
  using shown = std::conditional_t<converts_to<std::ranges::range_reference_t<Range>, Yielded>, Yielded,
                                   const std::remove_reference_t<Yielded>&>;
  auto position = std::ranges::begin(range);
  const auto end = std::ranges::end(range);
  for (; position != end; ++position) co_yield static_cast<shown>(*position);
}

template <class Yielded>
class generator_promise : public generator_state<Yielded>,
                          public part::starts_lazily,
                          public part::awaits_nothing {
  using const_lvalue = const std::remove_reference_t<Yielded>&;

 public:
  using typename generator_state<Yielded>::nesting, typename generator_state<Yielded>::yielded_copy;

  generator_end final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}

  CORACLE_ALWAYS_INLINE() std::suspend_always yield_value(Yielded object) noexcept {
    this->show(std::addressof(object));
    return {};
  }
  CORACLE_ALWAYS_INLINE()
  auto yield_value(const_lvalue original) noexcept(
      std::is_nothrow_constructible_v<std::remove_cvref_t<Yielded>, const_lvalue>)
    requires shown_from_copy<Yielded>
  {
    if constexpr (copied_into_promise<Yielded>) {
      this->show_copy(original);
      return std::suspend_always();
    } else {
      return yielded_copy(original);
    }
  }
  template <class Range, class Allocator>
  auto yield_value(elements_of<Range, Allocator> elements) {
    return yield_each(elements.range, std::move(elements.allocator));
  }
#if defined(__cpp_lib_generator)
  template <class Range, class Allocator>
  auto yield_value(std::ranges::elements_of<Range, Allocator> elements) {
    return yield_each(elements.range, std::move(elements.allocator));
  }
#endif
  template <class Value>
    requires(!converts_to<Value, const_lvalue>)
  auto yield_value(Value&&) noexcept {
    return detail::no_element<Yielded>();
  }

 private:
  template <class Range, class Allocator>
  static auto yield_each(Range& range, [[maybe_unused]] Allocator allocator) {
    if constexpr (is_generator_of<Range, Yielded>) {
      return nest(std::move(range));
    } else {
      constexpr bool fits = range_of_yielded<Range&, Yielded>;
      static_assert(fits,
                    "elements_of needs a generator or an input range whose elements this one can yield");
      if constexpr (fits) {
        return nest(detail::each_of<Yielded>(std::allocator_arg, std::move(allocator), range));
      } else {
        return any_awaiter();
      }
    }
  }
  template <class Generator>
  static nesting nest(Generator&& generator) noexcept {
    CORACLE_CHECK(generator.fresh(), "elements_of needs a generator that has not been started or moved from");
    return nesting(detail::as_state<Yielded>(generator.release()));
  }
};
}  // namespace detail
}  // namespace coracle
