// coracle/testing/model/atomic.hpp -- what code is written with that a model check is to see.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>

namespace coracle::testing {
/// std::atomic<T>. In a program that is compiled with CORACLE_MODEL, which linking coracle::model brings, a type of which
/// model_check() sees every access, with every old value that a load may see.
///
///     coracle::testing::atomic<bool> full{false};
///     coracle::testing::plain<int> letter = 0;
template <class T>
using atomic = detail::atomic<T>;

/// T: an ordinary field that a protocol hands from one thread to another. In such a program, and for numbers, pointers and
/// coroutine handles, a type of which model_check() reports two accesses that nothing orders. Its end is one of them, and
/// so is the free of its memory.
template <class T>
using plain = detail::plain<T>;
}  // namespace coracle::testing
