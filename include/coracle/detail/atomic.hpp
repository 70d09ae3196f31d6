// coracle/detail/atomic.hpp -- the seam through which every lock-free structure reaches shared memory.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

// `atomic<T>` is a word that threads race on; `plain<T>` is an ordinary field that a protocol hands from
// one thread to another. Here they are std::atomic<T> and T. A model checker swaps this header's contents
// (in another inline namespace) and sees every access of the shipped code.
namespace coracle::detail {
inline namespace native {
template <class T>
using atomic = std::atomic<T>;
template <class T>
using plain = T;

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
}  // namespace native
}  // namespace coracle::detail
