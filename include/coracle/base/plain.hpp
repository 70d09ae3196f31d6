// coracle/base/plain.hpp -- the seam for ordinary fields that a protocol passes between threads.
// SPDX-License-Identifier: MIT
#pragma once
#if defined(CORACLE_MODEL)
#include <coracle/testing/model/detail/memory.hpp>
#include <type_traits>
#endif

// `plain<T>` is an ordinary field whose ownership a protocol passes from thread to thread. It is a T; in a
// program compiled for the model checker (coracle/testing/model/model_check.hpp) it is the checker's own
// type, so that the checker sees every access.
namespace coracle::detail {
#if defined(CORACLE_MODEL)
inline namespace modelled {
template <class T>
using plain = std::conditional_t<testing::model::is_model_field<T>, testing::model::model_plain<T>, T>;
#else
inline namespace native {
template <class T>
using plain = T;
#endif
}  // inline namespace
}  // namespace coracle::detail
