// coracle/generators/pmr_generator.hpp -- generators whose frames come from a memory resource.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/generator.hpp>
#include <cstddef>
#include <memory_resource>

namespace coracle::pmr {
/// A generator whose frame comes from the memory resource passed after `std::allocator_arg`, or from the
/// default one.
///
///     coracle::pmr::generator<int> numbers(std::allocator_arg_t, std::pmr::memory_resource*, int count);
///
/// Prefer coracle::generator, which takes a `memory_resource*` too, and uses the faster recycler if none is
/// given. This is a separate header because <memory_resource> triples the compile time of generator.hpp.
template <class Ref, class Val = void>
using generator = coracle::generator<Ref, Val, std::pmr::polymorphic_allocator<std::byte>>;
}  // namespace coracle::pmr
