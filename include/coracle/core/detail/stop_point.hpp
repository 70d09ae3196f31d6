// coracle/core/detail/stop_point.hpp -- what a stop token refers to, and where listeners register.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/listener_list.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <cstdint>

namespace coracle {
class stop_token;

namespace detail {
class stop_state;

/// What a stop_point records: nothing yet; that stop was requested, and why; or the state, which records it
/// from then on. The word changes once, unless a state is created after a request because a token is kept.
class stop_word {
 public:
  constexpr stop_word() noexcept : word_(tag::nothing) {}
  explicit constexpr stop_word(stop_reason why) noexcept : word_(static_cast<tag>(why)) {}
  explicit stop_word(stop_state& made) noexcept : word_(&made) {}

  [[nodiscard]] bool knows_nothing() const noexcept { return word_ == tag::nothing; }
  [[nodiscard]] bool has_state() const noexcept { return word_.has_pointer(); }
  /// Requires: has_state().
  [[nodiscard]] stop_state& state() const noexcept { return *word_.pointer_tagged(tag::nothing); }
  /// Returns none if nothing is recorded yet. Requires: no state.
  [[nodiscard]] stop_reason reason() const noexcept { return static_cast<stop_reason>(word_.tag()); }

 private:
  /// A stop_reason in place of a pointer.
  enum class tag : std::uintptr_t { nothing = static_cast<std::uintptr_t>(stop_reason::none), mask = 7 };
  static_assert(static_cast<std::uintptr_t>(stop_reason::out_of_memory) <= 7, "every reason is below 8");

  tagged_pointer<stop_state, tag> word_;
};

/// What a token refers to: a stop_state, or a point below another one for which no state was needed yet. The
/// state is created for the first listener, or for a token that is kept. Most work ends without either, and
/// then its point costs a few stores.
///
/// Points below one another form a chain, which begins with a state. That state records a request to any
/// point of the chain, so in most cases one load shows that none of them is to stop; otherwise each is
/// checked.
//
//   [P1] load                    acquire  sees the state, or what the requester did before   pairs with P2
//   [P2] nothing -> reason or state    acq_rel or, not set, acquire  publishes it          pairs with P1, P2
//   [P3] a request in the chain  relaxed  set before P2 or R2, so a thread that sees those sees it; then P1
//   [P4] load                    relaxed  the state was created before its token was taken back
//   [P5] load                    relaxed  only the address of the state is compared
class stop_point {
 public:
  stop_point(const stop_point&) = delete;
  stop_point& operator=(const stop_point&) = delete;

  /// Returns false if stop was not requested; if true, check reason(). Calls nothing, so the caller saves no
  /// registers.
  [[nodiscard]] bool may_be_requested() const noexcept {
    return chain_->is_requested_in_chain_.load(memory_order_relaxed); /*P3*/
  }
  [[nodiscard]] bool requested() noexcept { return reason() != stop_reason::none; }
  [[nodiscard]] stop_reason reason() noexcept {
    return may_be_requested() ? reason_now() : stop_reason::none;
  }
  /// Returns true if stop was requested for `why` here, and not at a point further out.
  [[nodiscard]] bool requested_here(stop_reason why) noexcept {
    return reason() == why && !(outer_ && outer_->requested());
  }
  [[nodiscard]] inline bool possible() noexcept;
  /// Creates the state if there is none. A failed allocation counts as a reason to stop.
  [[nodiscard]] stop_state& state() noexcept {
    const stop_word seen = word_.load(memory_order_acquire); /*P1*/
    return seen.has_state() ? seen.state() : make_state_now();
  }
  /// Returns true if both tokens see the same source.
  [[nodiscard]] static bool are_same(const stop_point* one, const stop_point* other) noexcept {
    return one == other || (one && other && one->made() == other->made());
  }

 protected:
  /// For a state.
  explicit stop_point(stop_state& self) noexcept
      : word_(stop_word(self)), chain_(this), outer_(nullptr), depth_(0) {}
  /// For a point below `outer`, which lives longer; null if there is none.
  CORACLE_ALWAYS_INLINE()
  explicit stop_point(stop_point* outer) noexcept
      : word_(stop_word()),
        chain_(outer ? outer->chain_ : this),
        outer_(outer),
        depth_(outer ? outer->depth_ + 1 : 0) {
    if (depth_ > longest_chain) [[unlikely]]
      have_chain_begun();
  }
  CORACLE_ALWAYS_INLINE() ~stop_point() = default;

  bool request(stop_reason why) noexcept;
  void request_linked(stop_reason why) noexcept;
  /// Afterwards no token refers to this point. Not for a state.
  CORACLE_ALWAYS_INLINE() void end() noexcept {
    const stop_word seen = word_.load(memory_order_relaxed); /*P4*/
    if (!seen.knows_nothing()) [[unlikely]]
      have_state_ended(seen);
  }
  void note_in_chain() noexcept { chain_->is_requested_in_chain_.store(true, memory_order_relaxed); /*P3*/ }

 private:
  friend stop_state;
  static constexpr unsigned longest_chain = is_modelled ? 2 : 32;
  [[nodiscard]] const void* made() const noexcept {
    const stop_word seen = word_.load(memory_order_relaxed); /*P5*/
    return seen.has_state() ? static_cast<const void*>(&seen.state()) : this;
  }
  /// Changes the word from `seen` to `next`. Returns false if it has another value, which it stores in
  /// `seen`.
  bool learn(stop_word& seen, stop_word next) noexcept {
    return word_.compare_exchange_strong(seen, next, memory_order_acq_rel, memory_order_acquire); /*P2*/
  }
  CORACLE_NOINLINE() stop_reason reason_now() noexcept;
  CORACLE_COLD() stop_state& make_state() noexcept;
  // The rare paths are out of line and save registers themselves.
  CORACLE_SAVES_REGISTERS() static void have_state_ended(stop_word word) noexcept { end_state(word); }
  CORACLE_SAVES_REGISTERS() void have_chain_begun() noexcept { begin_chain(); }
  CORACLE_SAVES_REGISTERS() stop_state& make_state_now() noexcept { return make_state(); }
  static void end_state(stop_word word) noexcept;
  void begin_chain() noexcept;

  atomic<stop_word> word_;
  stop_point* chain_;  // where it begins; a state points to itself
  stop_point* const outer_;
  unsigned depth_;  // position in the chain
  atomic<bool> is_requested_in_chain_{false};
};

/// A listener that an awaiter registers while it waits. It holds no reference: the awaiting coroutine keeps
/// the token alive.
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
  /// As above. Requires: the token is not empty.
  [[nodiscard]] static bool may_be_late_by(const stop_token& token) noexcept;
  [[nodiscard]] static bool is_empty(const stop_token& token) noexcept;
  /// Null if the token is empty.
  [[nodiscard]] static stop_state* state_of(const stop_token& token) noexcept;
  /// After this call the listener is not running and will not run. No effect if it was not added.
  inline void remove() noexcept;
  [[nodiscard]] bool is_added() const noexcept { return state_ != nullptr; }
  /// Why stop was requested. Requires: added.
  [[nodiscard]] inline stop_reason why() const noexcept;

 private:
  plain<stop_state*> state_ = nullptr;  // null: not added
};
}  // namespace detail
}  // namespace coracle
