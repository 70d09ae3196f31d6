// SPDX-License-Identifier: MIT
#include <coracle/compose/completion.hpp>
#include <stdexcept>

namespace coracle::detail {
std::exception_ptr completion_dropped_error() noexcept {
  CORACLE_TRY() { throw_completion_dropped(); }  // where exceptions are disabled, ends the program
  CORACLE_CATCH_ALL() { return std::current_exception(); }
}
std::exception_ptr unknown_error() noexcept {
  return std::make_exception_ptr(std::runtime_error(
      "an operation of from_callback failed, and its error is a null exception_ptr: let the "
      "result be an expected"));
}
}  // namespace coracle::detail
