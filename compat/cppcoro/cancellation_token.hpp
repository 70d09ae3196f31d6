// cppcoro/cancellation_token.hpp -- coracle::stop_token with cppcoro's names for its members.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/stop.hpp>
#include <cppcoro/operation_cancelled.hpp>

namespace cppcoro {
/// Tells whether cancellation was requested. It converts to coracle::stop_token and from it.
///
///     token.throw_if_cancellation_requested();
///
/// Threads  any number of threads may use copies at once.
/// Cost     one pointer; a copy is an atomic increment.
class cancellation_token {
 public:
  /// One that is never requested.
  cancellation_token() noexcept = default;
  cancellation_token(coracle::stop_token token) noexcept  // NOLINT: a token is a token
      : token_(std::move(token)) {}
  operator coracle::stop_token() const noexcept { return token_; }  // NOLINT: likewise

  void swap(cancellation_token& other) noexcept { coracle::detail::swap_values(token_, other.token_); }
  friend void swap(cancellation_token& a, cancellation_token& b) noexcept { a.swap(b); }

  /// Returns false if cancellation was not requested and no source is left that could request it.
  [[nodiscard]] bool can_be_cancelled() const noexcept { return token_.stop_possible(); }
  [[nodiscard]] bool is_cancellation_requested() const noexcept { return token_.stop_requested(); }
  /// Throws operation_cancelled.
  void throw_if_cancellation_requested() const {
    if (is_cancellation_requested())
      CORACLE_THROW(operation_cancelled{}, "cancellation was requested, where exceptions are disabled");
  }

 private:
  coracle::stop_token token_;
};
}  // namespace cppcoro
