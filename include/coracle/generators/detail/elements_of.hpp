// coracle/generators/detail/elements_of.hpp -- yield the elements of a range or of another generator.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <utility>

namespace coracle {
/// `co_yield elements_of(range)` yields each element of a range, or of another generator.
///
///     coracle::generator<int> countdown(int n) {
///       co_yield n;
///       if (n > 0) co_yield coracle::elements_of(countdown(n - 1));
///     }
///
/// A generator of the same yielded type is consumed, and resumed directly at any depth. Any other range is
/// iterated by a coroutine of its own, whose frame comes from `allocator` if given. If the standard library
/// has std::ranges::elements_of, generators accept that too.
template <class Range, class Allocator = recycled_frames>
struct elements_of {
  explicit constexpr elements_of(Range&& elements, Allocator memory = Allocator()) noexcept
      : range(static_cast<Range&&>(elements)), allocator(std::move(memory)) {}

  Range&& range;
  [[no_unique_address]] Allocator allocator;
};
template <class Range, class Allocator = recycled_frames>
elements_of(Range&&, Allocator = Allocator()) -> elements_of<Range&&, Allocator>;
}  // namespace coracle
