// coracle/core/linked_stop_source.hpp -- a stop source below another one.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/stop.hpp>

namespace coracle::detail {
/// A source of its own that also stops when `outer`, which outlives it, does: for the same reason.
class linked_stop_source : stop_registration {
 public:
  /// Throws std::bad_alloc.
  CORACLE_ALWAYS_INLINE()
  explicit linked_stop_source(const stop_token& outer)
      : stop_registration(&outer_stopped), state_(new stop_state(outer.state_, *this)) {}
  explicit linked_stop_source(stop_token&& outer) = delete;
  ~linked_stop_source() {
    remove();
    state_->drop_only_source();
  }

  [[nodiscard]] stop_token get_token() const noexcept {
    state_->keep_longer();
    return stop_token{state_};
  }
  /// A token that is taken back before this goes: cheaper than one of its own.
  [[nodiscard]] stop_token lend_token() const noexcept { return stop_token{state_}; }
  static void take_back(stop_token& lent) noexcept { lent.state_ = nullptr; }

  /// Requires: this lives until the callbacks have returned.
  bool request_stop(stop_reason why) noexcept { return state_->request(why); }
  /// As request_stop(), for a callback of another source.
  void request_linked(stop_reason why) noexcept { state_->request_linked(why); }
  [[nodiscard]] stop_reason reason() const noexcept { return state_->reason(); }

 private:
  static void outer_stopped(stop_listener& self) noexcept {
    auto& mine = static_cast<linked_stop_source&>(self);
    mine.request_linked(mine.why());
  }
  stop_state* state_;
};
}  // namespace coracle::detail
