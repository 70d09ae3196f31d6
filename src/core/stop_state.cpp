// src/core/stop_state.cpp -- stop requests, and what they do to listeners and linked states.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/stop_point.hpp>
#include <coracle/core/detail/stop_state.hpp>

namespace coracle::detail {
void stop_state::delete_this() noexcept { delete this; }

/// Called with the lock held. Returns the reason if stop is requested. A request seen in the outer state,
/// while this one is not linked to it, stays seen: once linked, this state may be notified of the same
/// request later.
inline stop_reason stop_state::take_outer_reason() noexcept {
  stop_reason why = reason_.load(memory_order_relaxed);        /*R7*/
  stop_point* const outer = outer_.load(memory_order_relaxed); /*R7*/
  if (why != stop_reason::none || !outer) return why;
  why = outer->reason();
  if (why != stop_reason::none) {
    is_requested_in_chain_.store(true, memory_order_relaxed); /*P3*/
    reason_.store(why, memory_order_release);                 /*R2*/
  }
  return why;
}

/// Called with the lock held, and returns with the lock held, but releases it while the listener runs. The
/// listener may be destroyed inside its own call.
inline void stop_state::run_next() noexcept {
  stop_listener& listener = listeners_.take_first();
  running_ = &listener;
  unlock();
  listener.run(listener);
  lock();
  running_ = nullptr;
  if (one_shot* const remover = std::exchange(remover_, nullptr)) [[unlikely]] {
    unlock();
    remover->set();
    lock();
  }
}

bool stop_state::request(stop_reason why) noexcept {
  CORACLE_REQUIRE(why != stop_reason::none, "a stop was requested with stop_reason::none: give the reason");
  const wake_after_callbacks put_off{this_thread()};
  note_in_chain();  // first: a token that sees the reason must not skip the check
  if (!run_listeners(why)) return false;
  linked_requests& linked = this_thread().requests;
  while (stop_state* const next = linked.first) {
    linked.first = next->next_linked_;
    next->run_listeners(next->linked_reason_);
    next->drop();
  }
  return true;
}

void stop_state::request_linked(stop_reason why) noexcept {
  linked_requests& linked = this_thread().requests;
  note_in_chain();
  keep();
  if (linked.depth != linked_requests::most) {
    ++linked.depth;
    run_listeners(why);
    --linked.depth;
    return drop();
  }
  lock();
  const bool is_new =
      linked_reason_ == stop_reason::none && reason_.load(memory_order_relaxed) == stop_reason::none; /*R7*/
  if (is_new) linked_reason_ = why;
  unlock();
  if (!is_new) return drop();
  if (linked.first) {
    linked.last->next_linked_ = this;
  } else {
    linked.first = this;
  }
  linked.last = this;
}

/// Returns false if stop was requested before, here or in an outer state that is not linked.
bool stop_state::run_listeners(stop_reason why) noexcept {
  lock();
  if (take_outer_reason() != stop_reason::none) {
    unlock();
    return false;
  }
  reason_.store(why, memory_order_release); /*R2*/
  requester_ = &this_thread();
  while (!listeners_.empty()) run_next();
  unlock();
  return true;
}

void stop_state::remove_from_others(stop_listener& listener, listener_list::word begun) noexcept {
  const bool closed = listeners_.end_lock(begun).is_closed();
  if (!listener.link) [[unlikely]]  // run_next() has taken it out
    return remove_called(listener);
  listeners_.take_out(listener);
  listeners_.unlock(closed);
}

/// Called with the lock held, which it releases. Waits until the listener has returned, unless it is the
/// listener itself that removes it: it would wait for its own end.
void stop_state::remove_called(const stop_listener& listener) noexcept {
  one_shot returned;
  const bool waits = running_ == &listener && requester_ != &this_thread();
  if (waits) remover_ = &returned;
  unlock();
  if (waits) returned.wait();
}

void stop_state::outer_stopped(stop_listener& link) noexcept {
  auto& mine = static_cast<stop_state&>(static_cast<stop_registration&>(link));
  mine.request_linked(mine.why());
}

/// Called with the lock held. Returns the reason if stop is requested. While this state is not linked,
/// nothing listens to it yet.
stop_reason stop_state::link_to_outer() noexcept {
  stop_reason why = reason_.load(memory_order_relaxed);        /*R7*/
  stop_point* const outer = outer_.load(memory_order_relaxed); /*R7*/
  if (!outer) return why;
  if (why == stop_reason::none && !add_to(outer->state())) why = take_outer_reason();
  outer_.store(nullptr, memory_order_release); /*R9*/
  return why;
}

void stop_state::link_now() noexcept {
  lock();
  link_to_outer();
  unlock();
}

stop_reason stop_state::take_outer_reason_now() noexcept {
  lock();
  const stop_reason why = take_outer_reason();
  unlock();
  return why;
}

stop_reason stop_point::reason_now() noexcept {
  stop_word seen = word_.load(memory_order_acquire); /*P1*/
  if (seen.knows_nothing()) {
    const stop_reason why = outer_ ? outer_->reason() : stop_reason::none;
    if (why == stop_reason::none) return why;
    if (learn(seen, stop_word(why))) return why;
  }
  return seen.has_state() ? seen.state().reason_of_state() : seen.reason();
}

/// Returns true if this was the first request. Another thread may have created the state meanwhile.
bool stop_point::request(stop_reason why) noexcept {
  note_in_chain();
  if (requested()) return false;
  stop_word seen;
  if (learn(seen, stop_word(why))) return true;
  return seen.has_state() && seen.state().request(why);
}

void stop_point::request_linked(stop_reason why) noexcept {
  note_in_chain();
  if (requested()) return;
  stop_word seen;
  if (learn(seen, stop_word(why))) return;
  if (seen.has_state()) seen.state().request_linked(why);
}

/// Returns the state used where allocation fails: as no listener can be added, out_of_memory is the reason to
/// stop, and it is final.
stop_state& stop_state::out_of_memory() noexcept {
  alignas(stop_state) static std::byte memory[sizeof(stop_state)];
  static stop_state* const state = [] {
    auto* const made = ::new (static_cast<void*>(memory)) stop_state(1);
    made->requested_before(stop_reason::out_of_memory);
    return made;
  }();
  state->keep();
  return *state;
}

stop_state& stop_point::make_state() noexcept {
  stop_state* state;
  bool has_memory = true;
  CORACLE_TRY() { state = new stop_state(*this); }
  CORACLE_CATCH_ALL() {
    note_in_chain();
    state = &stop_state::out_of_memory();
    has_memory = false;
  }
  stop_word seen;
  while (!learn(seen, stop_word(*state))) {
    if (seen.has_state()) {
      state->drop_only_source();
      return seen.state();
    }
    // An earlier request determines the reason.
    if (!has_memory) {
      state->drop();
      break;
    }
    state->requested_before(seen.reason());
  }
  return *state;
}

void stop_point::end_state(stop_word word) noexcept {
  if (word.has_state()) word.state().drop_only_source();
}

void stop_point::begin_chain() noexcept {
  stop_state& first = state();
  first.link_now();
  chain_ = &first;
  depth_ = 0;
}
}  // namespace coracle::detail
