// coracle/core/detail/stop_point.hpp -- what a stop token refers to, and listens at.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <cstdint>

namespace coracle {
class stop_token;

namespace detail {
/// A registered callback: a link in its state's list, inside the stop_callback.
struct stop_listener {
  using callback = void(stop_listener&) noexcept;
  explicit stop_listener(callback* on_stop) noexcept : run(on_stop) {}

  callback* run;
  // These belong to the state's lock. A listener is in the list, or it runs, or it has run.
  plain<stop_listener*> following;
  plain<plain<stop_listener*>*> link;  // what points here; null: not in the list any more
};

class stop_state;

/// What a token refers to: a stop_state, or the place of one below another that nobody has needed yet. It is made for the
/// first listener, or for a token that is kept. Most work ends without either, and then its place costs a few stores.
///
/// Places one below the other are a row, which begins with a state: that is told of a request to any of them. So one look
/// there says in most cases that none is to stop, and only else is each asked.
//
// word_ is 0, a reason for which stop was requested, or the address of the state, which knows the reason then. It is set once
// but for a state that is made after a request, because somebody keeps a token.
//   [P1] load                    acquire  sees the state, or what the requester did before   pairs with P2
//   [P2] 0 -> reason or state    acq_rel or, not set, acquire  publishes it                  pairs with P1, P2
//   [P3] somebody in the row     relaxed  set before P2 or R2, so whoever knows of that sees it; then P1 of each
//   [P4] load                    relaxed  the state was made before the token was taken back for which it was
class stop_point {
 public:
  stop_point(const stop_point&) = delete;
  stop_point& operator=(const stop_point&) = delete;

  /// False: it is not requested. True: ask reason(). Calls nothing, so that who asks saves no registers.
  [[nodiscard]] bool may_be_requested() const noexcept {
    return row_->is_requested_in_row_.load(memory_order_relaxed); /*P3*/
  }
  [[nodiscard]] bool requested() noexcept { return reason() != stop_reason::none; }
  [[nodiscard]] stop_reason reason() noexcept {
    return may_be_requested() ? reason_now() : stop_reason::none;
  }
  [[nodiscard]] inline bool possible() noexcept;
  /// Made, if there is none. Where there is no memory, that is a reason to stop.
  [[nodiscard]] stop_state& state() noexcept {
    const std::uintptr_t seen = word_.load(memory_order_acquire); /*P1*/
    return is_state(seen) ? as_state(seen) : make_state_now();
  }
  /// Two tokens see the same source.
  [[nodiscard]] static bool are_same(const stop_point* one, const stop_point* other) noexcept {
    return one == other || (one && other && one->made() == other->made());
  }

 protected:
  /// Of a state.
  explicit stop_point(stop_state& self) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&self)), row_(this), outer_(nullptr), depth_(0) {}
  /// Of a place below `outer`, which lives longer; null: it has none.
  CORACLE_ALWAYS_INLINE()
  explicit stop_point(stop_point* outer) noexcept
      : word_(0), row_(outer ? outer->row_ : this), outer_(outer), depth_(outer ? outer->depth_ + 1 : 0) {
    if (depth_ > longest_row) [[unlikely]]
      have_row_begun();
  }
  CORACLE_ALWAYS_INLINE() ~stop_point() = default;

  bool request(stop_reason why) noexcept;
  void request_linked(stop_reason why) noexcept;
  /// Afterwards no token refers to this. Not for a state.
  CORACLE_ALWAYS_INLINE() void end() noexcept {
    const std::uintptr_t seen = word_.load(memory_order_relaxed); /*P4*/
    if (seen != 0) [[unlikely]]
      have_state_ended(seen);
  }
  void note_in_row() noexcept { row_->is_requested_in_row_.store(true, memory_order_relaxed); /*P3*/ }

 private:
  friend stop_state;
  static constexpr unsigned longest_row = is_modelled ? 2 : 32;
  static bool is_state(std::uintptr_t word) noexcept { return word != 0 && (word & 1) == 0; }
  static stop_state& as_state(std::uintptr_t word) noexcept { return *reinterpret_cast<stop_state*>(word); }
  static std::uintptr_t word_of(stop_reason why) noexcept {
    return static_cast<std::uintptr_t>(why) << 1 | 1;
  }
  static stop_reason reason_of(std::uintptr_t word) noexcept { return static_cast<stop_reason>(word >> 1); }
  [[nodiscard]] const void* made() const noexcept {
    const std::uintptr_t seen = word_.load(memory_order_acquire); /*P1*/
    return is_state(seen) ? static_cast<const void*>(&as_state(seen)) : this;
  }
  stop_reason reason_now() noexcept;
  stop_state& make_state() noexcept;
  // What is rare is out of line, and saves the registers itself.
  CORACLE_SAVES_REGISTERS() static void have_state_ended(std::uintptr_t word) noexcept { end_state(word); }
  CORACLE_SAVES_REGISTERS() void have_row_begun() noexcept { begin_row(); }
  CORACLE_SAVES_REGISTERS() stop_state& make_state_now() noexcept { return make_state(); }
  static void end_state(std::uintptr_t word) noexcept;
  void begin_row() noexcept;

  atomic<std::uintptr_t> word_;
  stop_point* row_;  // where it begins: a state is its own
  stop_point* const outer_;
  unsigned depth_;  // in the row
  atomic<bool> is_requested_in_row_{false};
};

/// A listener that an awaiter adds while it waits. Holds no reference: whoever awaits keeps the token alive.
class stop_registration : public stop_listener {
 public:
  using stop_listener::stop_listener;
  stop_registration(const stop_registration&) = delete;
  stop_registration& operator=(const stop_registration&) = delete;

  /// Returns false if stop was already requested; the listener will then not run.
  bool add_to(const stop_token& token) noexcept;
  inline bool add_to(stop_state& state) noexcept;
  /// Returns false if stop is not requested.
  [[nodiscard]] static bool may_be_late(const stop_token& token) noexcept;
  /// Null if the token is empty.
  [[nodiscard]] static stop_state* state_of(const stop_token& token) noexcept;
  /// Afterwards the listener does not run and will not. No effect if it was not added.
  inline void remove() noexcept;
  [[nodiscard]] bool is_added() const noexcept { return state_ != nullptr; }
  /// Why stop was requested. Requires: added.
  [[nodiscard]] inline stop_reason why() const noexcept;

 private:
  plain<stop_state*> state_ = nullptr;  // null: not added
};
}  // namespace detail
}  // namespace coracle
