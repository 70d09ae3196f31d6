// coracle/testing/model/atomic.hpp -- atomics and plain fields that the model checker sees.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>

namespace coracle::testing {
/// std::atomic<T>. In a program compiled with CORACLE_MODEL, which linking coracle::model defines, a type
/// whose accesses model_check() sees, with every stale value that a load may return.
///
///     coracle::testing::atomic<bool> full{false};
///     coracle::testing::plain<int> letter = 0;
template <class T>
using atomic = detail::atomic<T>;

/// T: an ordinary field that a protocol passes from one thread to another. In such a program, for numbers,
/// pointers and coroutine handles, a type for which model_check() reports unordered accesses. Its destruction
/// and the free of its memory count as accesses.
template <class T>
using plain = detail::plain<T>;
}  // namespace coracle::testing
