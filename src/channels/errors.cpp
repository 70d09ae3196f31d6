// src/channels/errors.cpp -- errors of channels as values, for programs in which nothing can be thrown.
// SPDX-License-Identifier: MIT
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/channel_closed.hpp>
#include <coracle/channels/oneshot.hpp>

// Where this file is compiled without exceptions, too, they end the program with the message.
namespace coracle::detail {
std::exception_ptr channel_closed_error() noexcept {
  CORACLE_TRY() { throw_channel_closed(); }
  CORACLE_CATCH_ALL() { return std::current_exception(); }
}
std::exception_ptr lagged_error(std::uint64_t lost) noexcept {
  CORACLE_TRY() { throw_lagged(lost); }
  CORACLE_CATCH_ALL() { return std::current_exception(); }
}
std::exception_ptr no_oneshot_value_error() noexcept {
  CORACLE_TRY() { throw_no_oneshot_value(); }
  CORACLE_CATCH_ALL() { return std::current_exception(); }
}
}  // namespace coracle::detail
