// coracle/io/detail/transfer_count.hpp -- the bytes of a transfer that may continue an earlier one.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>

namespace coracle::detail {
inline constexpr const char* counts_too_much =
    "a count of transferred bytes exceeds the size of what was to be transferred: set it to 0 before you "
    "transfer something else";

/// Returns the count of a transfer of `size` bytes: that of the caller, if there is one, or `local`.
template <class Count, class Size>
Count& transfer_count(Count* of_caller, Count& local, Size size) {
  CORACLE_REQUIRE(!of_caller || *of_caller <= size, counts_too_much);
  return of_caller ? *of_caller : local;
}
}  // namespace coracle::detail
