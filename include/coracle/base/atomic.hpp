// coracle/base/atomic.hpp -- the seam through which every lock-free structure reaches shared memory.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/plain.hpp>

#if defined(CORACLE_MODEL)
#include <coracle/testing/model/detail/memory.hpp>
#else
#include <atomic>
#endif

// `atomic<T>` is a word that threads race on. It is std::atomic<T>; in a program compiled for the model
// checker (coracle/testing/model/model_check.hpp) it is the checker's own type, so that the checker sees
// every access of the shipped code. A function with a memory-order parameter takes an `order_argument`, which
// tells the checker which line named the order.
namespace coracle::detail {
#if defined(CORACLE_MODEL)
inline namespace modelled {
/// For constants that only affect speed: in the model each iteration of a waiting loop is one more step.
inline constexpr bool is_modelled = true;
template <class T>
using atomic = testing::model::model_atomic<T>;
using order_argument = testing::model::model_order;
#else
inline namespace native {
inline constexpr bool is_modelled = false;
template <class T>
using atomic = std::atomic<T>;
using order_argument = std::memory_order;
#endif

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
}  // inline namespace
}  // namespace coracle::detail
