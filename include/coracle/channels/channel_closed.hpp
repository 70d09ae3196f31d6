// coracle/channels/channel_closed.hpp -- thrown by a send into a closed channel.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/promise_parts.hpp>
#include <exception>
#include <type_traits>

namespace coracle {
/// Thrown by a send into a closed channel. The sender keeps the value.
///
///     try { co_await jobs.send(std::move(mine)); }
///     catch (const coracle::channel_closed&) { keep(std::move(mine)); }
class channel_closed : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "a value was sent into a closed channel";
  }
};

namespace detail {
CORACLE_THROWS_ABI() CORACLE_FAILS() inline void throw_channel_closed() {
  CORACLE_THROW(channel_closed{}, "a value was sent into a closed channel");
}
/// What throw_channel_closed() throws, for programs without exceptions.
[[nodiscard]] CORACLE_COLD() std::exception_ptr channel_closed_error() noexcept;

template <class T>
inline constexpr bool is_channel_element = false;
template <class T>
  requires std::is_object_v<T> && (!std::is_array_v<T>) && (!std::is_const_v<T>)
inline constexpr bool is_channel_element<T> =
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T> && fits_into_frame<T>;
/// T or, if the channel rejects T with a message, a type that avoids further messages.
template <class T>
using channel_element_t = std::conditional_t<is_channel_element<T>, T, int>;
}  // namespace detail
}  // namespace coracle
