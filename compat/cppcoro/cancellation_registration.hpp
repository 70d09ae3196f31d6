// cppcoro/cancellation_registration.hpp -- coracle::stop_callback for any function.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/functional.hpp>
#include <coracle/core/stop.hpp>
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro {
/// Calls a function once cancellation is requested: at once if it has been, else inside
/// request_cancellation(), on that thread. Destroying it deregisters the function.
///
///     cppcoro::cancellation_registration on_cancel{token, [&] { timer.cancel(); }};
///
/// Prefer coracle::stop_callback, which holds the function without a std::function.
/// Exceptions  the function must not throw: std::terminate.
/// Threads     the destructor waits for a call that runs on another thread, not for its own.
class cancellation_registration {
 public:
  template <class Function>
    requires std::is_constructible_v<std::function<void()>, Function>
  cancellation_registration(cancellation_token token, Function&& callback)
      : callback_(token, std::function<void()>(static_cast<Function&&>(callback))) {}

 private:
  coracle::stop_callback<std::function<void()>> callback_;
};
}  // namespace cppcoro
