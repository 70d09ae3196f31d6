// coracle/detail/atomic.hpp -- the seam through which every lock-free structure reaches shared memory.
// SPDX-License-Identifier: MIT
#pragma once
#if defined(CORACLE_MODEL)
#include <coracle/testing/model_memory.hpp>
#include <type_traits>
#else
#include <atomic>
#endif

// `atomic<T>` is a word that threads race on; `plain<T>` is an ordinary field that a protocol hands from
// one thread to another. They are std::atomic<T> and T; in a program that is compiled for the model checker
// (coracle/testing/model_check.hpp) they are types of its own, by which it sees every access of the shipped code.
// A function that is told a memory order takes an `order_argument`: so the checker knows who has named it.
namespace coracle::detail {
#if defined(CORACLE_MODEL)
inline namespace modelled {
/// For constants that are only a matter of speed: in the model each turn of a loop that waits is one step more.
inline constexpr bool is_modelled = true;
template <class T>
using atomic = testing::model::model_atomic<T>;
template <class T>
using plain = std::conditional_t<testing::model::is_model_field<T>, testing::model::model_plain<T>, T>;
using order_argument = testing::model::model_order;
#else
inline namespace native {
inline constexpr bool is_modelled = false;
template <class T>
using atomic = std::atomic<T>;
template <class T>
using plain = T;
using order_argument = std::memory_order;
#endif

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
}  // inline namespace
}  // namespace coracle::detail
