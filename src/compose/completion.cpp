// SPDX-License-Identifier: MIT
#include <coracle/compose/completion.hpp>

namespace coracle::detail {
std::exception_ptr completion_dropped_error() noexcept {
  CORACLE_TRY() { throw_completion_dropped(); }  // where exceptions are disabled, ends the program
  CORACLE_CATCH_ALL() { return std::current_exception(); }
}
}  // namespace coracle::detail
