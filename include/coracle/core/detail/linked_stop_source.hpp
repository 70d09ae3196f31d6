// coracle/core/detail/linked_stop_source.hpp -- a stop source below another one.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/stop.hpp>

namespace coracle::detail {
/// A source of its own that also stops when `outer`, which outlives it, does, and for the same reason. No
/// state is created before a listener is registered or a token is kept.
class linked_stop_source : stop_point {
 public:
  CORACLE_ALWAYS_INLINE()
  explicit linked_stop_source(const stop_token& outer) noexcept : stop_point(outer.state_) {}
  explicit linked_stop_source(stop_token&& outer) = delete;
  CORACLE_ALWAYS_INLINE() ~linked_stop_source() { end(); }

  [[nodiscard]] stop_token get_token() noexcept { return stop_token{&stop_token::kept(*this)}; }
  /// Returns a token that must not outlive this: cheaper than one that owns a reference.
  [[nodiscard]] stop_token lend_token() noexcept { return stop_token{static_cast<stop_point*>(this)}; }
  /// Returns a token for `longer`, which outlives the lent token.
  [[nodiscard]] static stop_token lend(const stop_token& longer) noexcept {
    return stop_token{longer.state_};
  }
  static void take_back(stop_token& lent) noexcept { lent.state_ = nullptr; }

  /// Returns true if this was the first request. Requires: this outlives the callbacks.
  bool request_stop(stop_reason why) noexcept { return request(why); }
  using stop_point::may_be_requested;
  using stop_point::reason;
  using stop_point::requested_here;
  /// As request_stop(), for a callback of another source: see stop_state::request_linked().
  using stop_point::request_linked;
};
}  // namespace coracle::detail
