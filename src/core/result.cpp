// src/core/result.cpp -- exceptions in the place of a result.
// SPDX-License-Identifier: MIT
#include <coracle/core/result.hpp>
#include <new>

namespace coracle {
void detail::store_current_exception(void* memory) noexcept {
  ::new (memory) std::exception_ptr(std::current_exception());
}
void detail::drop_stored(std::exception_ptr& error) noexcept { error.~exception_ptr(); }
}  // namespace coracle
