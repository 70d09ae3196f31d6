// src/core/stop.cpp -- the references that stop sources hold, and their requests.
// SPDX-License-Identifier: MIT
#include <coracle/core/stop.hpp>

namespace coracle {
stop_source::stop_source(const stop_source& other) noexcept : state_(other.state_) {
  if (!state_) return;
  state_->keep();
  state_->add_source();
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
