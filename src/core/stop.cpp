// src/core/stop.cpp -- the references of stop tokens and stop sources.
// SPDX-License-Identifier: MIT
#include <coracle/core/stop.hpp>

namespace coracle {
detail::stop_state& stop_token::kept(detail::stop_point& point) noexcept {
  detail::stop_state& state = point.state();
  state.keep_longer();
  return state;
}

stop_source::stop_source(const stop_source& other) noexcept : state_(other.state_) {
  if (!state_) return;
  state_->keep();
  state_->add_source();
}

stop_source::~stop_source() {
  if (!state_) return;
  state_->drop_source();
  state_->drop();
}

bool stop_source::request_stop(stop_reason why) noexcept {
  if (!state_) return false;
  detail::stop_state* const state = state_;
  state->keep();  // a callback may drop the last source
  const bool first = state->request(why);
  state->drop();
  return first;
}
}  // namespace coracle
