// src/core/result.cpp -- exceptions in the place of a result.
// SPDX-License-Identifier: MIT
#include <coracle/core/result.hpp>
#include <cstdio>
#include <exception>
#include <new>

namespace coracle {
void detail::store_current_exception(void* memory) noexcept {
  ::new (memory) std::exception_ptr(std::current_exception());
}
void detail::drop_stored(std::exception_ptr& error) noexcept { error.~exception_ptr(); }

void detail::end_with(const std::exception_ptr& error) noexcept {
  if (!error)
    fail("a program without exceptions took the result of work that failed: put as_outcome() around it");
  CORACLE_TRY() { std::rethrow_exception(error); }
  CORACLE_CATCH(const std::exception&, its) {
    char message[512];
    std::snprintf(message, sizeof message,
                  "a program without exceptions took the result of work that failed (%s): put as_outcome() "
                  "around it",
                  its.what());
    fail(message);
  }
  __builtin_abort();
}
}  // namespace coracle
