// coracle/core/detail/folded_body.hpp -- folding a task's body into its awaiter.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/core/detail/stored_result.hpp>
#include <coracle/core/detail/task_frame.hpp>
#include <coroutine>
#include <new>
#include <type_traits>
#include <utility>

// A body usually stays suspended at its end, and its awaiter destroys it through the address kept in the
// awaiter's frame. The frame must therefore exist even where the compiler has inlined both the call and the
// body into the awaiter. If the body destroys itself instead, nothing needs the frame, and clang elides it:
// the body is *folded* into its awaiter (ADR 22 has the figures). Both halves decide at compile time, by what
// the compiler knows at that point:
//
//   awaiter  await_suspend  knows the first word of the child's frame, so the call that created it was
//                           inlined: offers its fold_slot. The child then stores the awaiter's address in
//                           place of the parent's, which the slot stores.
//   body     at its end     knows that a slot was offered, so the body was inlined, too: moves its result
//                           into the slot, destroys itself and continues the parent.
//   body     at its end     does not know: continues the parent, and the awaiter destroys it as usual.
//   body     has failed     the same, since the error stays in its frame.
//   awaiter  afterwards     no longer has a body: the result is in the slot, and nothing is left to destroy.
//
// All of this happens one step after the other, as in every await, so nothing is atomic. An awaiter that is
// destroyed while its child waits still has the body, and destroys it.
//
// Where bodies are not folded (g++, or CORACLE_ENABLE_BODY_FOLDING=0), everything here is empty.
namespace coracle::detail {
template <class T>
class CORACLE_FOLDING_ABI() awaited_task;

/// Only results that cannot refer to a parameter of the body: without folding, parameters live until the end
/// of the full expression.
template <class T>
inline constexpr bool may_fold =
    CORACLE_FOLDS_BODIES() && (std::is_void_v<T> || ((std::is_arithmetic_v<T> || std::is_enum_v<T>) &&
                                                     alignof(stored_t<T>) <= alignof(void*)));

/// The awaiter's half, a base of awaited_task<T>. Empty where a body with result `T` is never folded.
template <class T, bool = may_fold<T>>
class fold_slot {
 public:
  template <class Parent, class Promise>
  static constexpr bool may_be_offered_to(std::coroutine_handle<Promise>) noexcept {
    return false;
  }
  template <class Promise, class Parent>
  void offer_to(std::coroutine_handle<Promise>, std::coroutine_handle<Parent>) noexcept {}
};

inline constinit char no_code = 0;  // no frame begins with its address

template <class T>
class fold_slot<T, true> {
 public:
  fold_slot() noexcept {}
  fold_slot(const fold_slot&) = delete;
  fold_slot& operator=(const fold_slot&) = delete;
  ~fold_slot() {}

  /// Returns true if the slot can be offered to `body`: the compiler has inlined the call that created it,
  /// and the parent need not be notified of a stop request that ends it.
  template <class Parent, class Promise>
  CORACLE_ALWAYS_INLINE()
  static bool may_be_offered_to(std::coroutine_handle<Promise> body) noexcept {
    if constexpr (!ends_stopped<Parent>) return false;
    // The result of the comparison does not matter, only whether the compiler knows it: then it has seen the
    // call store the word. A comparison with null would always be known, since await_ready() has checked
    // whether the body is done.
    void* const code = *static_cast<void**>(body.address());
    return __builtin_constant_p(code == &no_code);
  }
  /// Offers the slot to a body that is about to start.
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  void offer_to(std::coroutine_handle<Promise> body, std::coroutine_handle<> parent) noexcept {
    parent_ = parent.address();
    body.promise().take_fold_slot(awaiter());
  }
  /// Returns the awaiting coroutine. Requires: the slot is offered, and the body has not left its result.
  [[nodiscard]] std::coroutine_handle<> parent() const noexcept {
    return std::coroutine_handle<>::from_address(parent_);
  }
  /// Called by the body, which is about to destroy itself.
  CORACLE_ALWAYS_INLINE() void leave([[maybe_unused]] value_only<T>& result) noexcept {
    auto* const left = ::new (static_cast<void*>(&result_)) value_only<T>;
    if constexpr (!std::is_void_v<T>) left->emplace(std::move(result).get());
    awaiter().body_ = nullptr;
  }
  /// Requires: the body has left its result.
  T take_result() { return std::move(result_).get(); }

 private:
  awaited_task<T>& awaiter() noexcept { return static_cast<awaited_task<T>&>(*this); }

  union {
    void* parent_;
    value_only<T> result_;
  };
};

/// The body's half, called at its end. Returns true if the compiler knows that the body is being folded.
template <class Promise>
CORACLE_ALWAYS_INLINE()
bool is_folded(const Promise& body) noexcept {
  const bool is_offered = body.has_fold_slot();
  return __builtin_constant_p(is_offered) && is_offered;
}
/// Ends the body, unless it has failed, and returns the parent.
template <class Promise>
CORACLE_ALWAYS_INLINE()
std::coroutine_handle<> fold(Promise& body) noexcept {
  auto& slot = body.slot();
  const std::coroutine_handle<> parent = slot.parent();
  if (body.has_error()) [[unlikely]]
    return parent;
  slot.leave(body.kept_result());
  std::coroutine_handle<Promise>::from_promise(body).destroy();
  return parent;
}
}  // namespace coracle::detail
