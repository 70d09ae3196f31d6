// src/io/io_failure_of.hpp -- what the await of an I/O operation would throw.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_operation.hpp>
#include <exception>
#include <type_traits>

namespace coracle::detail {
template <class Operation>
std::exception_ptr io_failure_of(Operation& over) noexcept {
  static_assert(std::is_base_of_v<io_operation, Operation>);
  if (!over.await_error()) return nullptr;
  try {
    static_cast<void>(over.await_resume());
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}
}  // namespace coracle::detail
