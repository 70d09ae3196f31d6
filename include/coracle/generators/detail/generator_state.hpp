// coracle/generators/detail/generator_state.hpp -- nested generators, and the element of the outermost.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/exchange.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/stored_result.hpp>
#include <coracle/core/result.hpp>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle::detail {
/// True for types of which an lvalue is yielded from a copy in the promise: the compiler can dissolve a frame
/// into registers if it holds no pointer into itself.
template <class Yielded>
concept copied_into_promise =
    std::is_rvalue_reference_v<Yielded> && !std::is_volatile_v<std::remove_reference_t<Yielded>> &&
    std::is_trivially_copy_constructible_v<std::remove_cvref_t<Yielded>> &&
    std::is_trivially_destructible_v<std::remove_cvref_t<Yielded>> &&
    sizeof(std::remove_cvref_t<Yielded>) <= 2 * sizeof(void*) &&
    alignof(std::remove_cvref_t<Yielded>) <= alignof(void*);

/// The current element: a pointer to the yielded object, or a copy.
template <class Yielded>
class shown_element {
 public:
  using pointer = std::add_pointer_t<Yielded>;
  CORACLE_ALWAYS_INLINE() void show(pointer object) noexcept { object_ = object; }
  CORACLE_ALWAYS_INLINE() pointer shown() noexcept { return object_; }

 private:
  pointer object_ = nullptr;
};
template <copied_into_promise Yielded>
class shown_element<Yielded> {
  using value = std::remove_cvref_t<Yielded>;

 public:
  using pointer = std::add_pointer_t<Yielded>;
  CORACLE_ALWAYS_INLINE() shown_element() noexcept {}
  CORACLE_ALWAYS_INLINE() void show(pointer object) noexcept { object_ = object; }
  CORACLE_ALWAYS_INLINE() void show_copy(const value& original) noexcept {
    ::new (static_cast<void*>(std::addressof(copy_))) value(original);
    object_ = nullptr;
  }
  CORACLE_ALWAYS_INLINE() pointer shown() noexcept { return object_ ? object_ : std::addressof(copy_); }

 private:
  pointer object_;  // null: the copy
  union {
    value copy_;
  };
};

// Generators that yield the elements of other generators form a nest:
//
//   for (int each : root())                 the iterator
//   root     co_yield elements_of(branch())   the generator that is iterated over
//   branch   co_yield elements_of(leaf())
//   leaf     co_yield 1                       the innermost: its element is the current one
//
// The iterator resumes the leaf directly, and exposes its element, so an element costs the same at any depth.
// A generator that is nested keeps its place in the frame of the one that yields it: `nesting`. It leads from
// the leaf up to the root; the two ends refer to each other by `other_end_`:
//
//   of            other_end_                 the generator
//   a root        nobody                     has not started, or has ended
//                 itself                     is the leaf, too
//                 the leaf's frame           has nested generators
//                 the leaf's frame, `waits`  the same, but the leaf must be resumed before it has an element
//                 error_in_root              has ended by an exception, which advance() throws
//   a nested one  the root's frame
//
// Entering and leaving a nested generator transfers to the new leaf where there are tail calls. Otherwise it
// suspends and leaves the mark `waits`: the iterator resumes the new leaf. Both kinds of unit work with each
// other's iterators.
//
// Only a nesting generator lets a pointer to its frame escape: the compiler can dissolve the others.
//
// The awaiters are members, because argument-dependent lookup completes the template arguments of a class
// template, but not those of the class around a member: `Yielded` may point to a type that must not be
// completed. For the same reason `!`, `&&` and `==` are never applied to a handle.

enum class nest_tag : std::uintptr_t {
  itself = 0,
  waits = 1,  ///< a mark of the leaf
  nobody = 2,
  error_in_root = 4,
  mask = 7
};
using nest_end = tagged_pointer<void, nest_tag>;

template <class Yielded>
class generator_state : public shown_element<Yielded> {
 public:
  using handle = std::coroutine_handle<generator_state>;
  class nesting;
  class yielded_copy;

  generator_state() noexcept : place_(nullptr) {}
  ~generator_state() {}

  /// For a root: returns true if it has not started or has ended.
  bool at_rest() const noexcept { return other_end_ == nest_tag::nobody; }
  /// Requires: not started. advance() then runs it.
  void start() noexcept { other_end_ = nest_tag::itself; }

  /// The generator of `outer` yields the elements of the one in `place`, which becomes the leaf.
  CORACLE_INLINE_TRANSFER()
  static auto enter(std::coroutine_handle<> outer, nesting& place) noexcept {
    const handle nested = place.nested_;
    const generator_state& parent = at(outer.address());
    void* const root = parent.place_ ? frame_at(parent.other_end_) : outer.address();
    place.parent_ = handle::from_address(outer.address());
    nested.promise().place_ = &place;
    nested.promise().other_end_ = nest_end(root);
    at(root).other_end_ = nest_end(nested.address(), unless_transferred);
    return continue_with(nested);
  }
  /// The body has ended: its parent becomes the leaf.
  CORACLE_INLINE_TRANSFER() auto leave() noexcept {
    if (!other_end_.has_pointer()) {
      if (other_end_ == nest_tag::itself) other_end_ = nest_tag::nobody;
      return continue_with(std::noop_coroutine());
    }
    void* const root = frame_at(other_end_);
    void* const next = place_ ? place_->parent_.address()
                              : frame_at(at(root).other_end_);  // unhandled_exception() has set it
    at(root).other_end_ = CORACLE_TAIL_TRANSFER() && next == root ? nest_end(nest_tag::itself)
                                                                  : nest_end(next, unless_transferred);
    return continue_with(handle::from_address(next));
  }
  // Stored, not rethrown: if an exception may leave the body, clang saves more registers at each resumption.
  void unhandled_exception() noexcept {
    std::exception_ptr* error = std::addressof(error_);
    if (place_) {
      nesting& place = *detail::exchange(place_, nullptr);
      at(frame_at(other_end_)).other_end_ = nest_end(place.parent_.address());
      error = std::addressof(place.error_);
    } else {
      other_end_ = nest_tag::error_in_root;
    }
    ::new (static_cast<void*>(error)) std::exception_ptr(std::current_exception());
  }
  /// Returns true for a nested generator whose body ended by an exception.
  bool failed() const noexcept { return !place_; }

  /// Runs until the root has its next element or has ended. Requires: `root` is a root, started and not
  /// ended.
  CORACLE_ALWAYS_INLINE() static void advance(handle root) {
    generator_state& state = root.promise();
    if (state.other_end_ == nest_tag::itself) [[likely]] {
      root.resume();
      if (state.other_end_ == nest_tag::itself) [[likely]]
        return;
      if (state.other_end_ == nest_tag::error_in_root) throw_error(state.take_error());
      show_leaf(state.other_end_);
    } else {
      advance_leaf(frame_at(state.other_end_));
    }
  }
  /// Destroys the leaf first and the root last, so that depth costs no stack.
  CORACLE_ALWAYS_INLINE() static void destroy(std::coroutine_handle<> root, generator_state& state) noexcept {
    if (state.other_end_.has_pointer()) [[unlikely]]
      destroy_nested(frame_at(state.other_end_));
    root.destroy();
  }

 private:
  // The new leaf runs now, or in the iterator's next step.
#if CORACLE_TAIL_TRANSFER()
  static constexpr nest_tag unless_transferred = nest_tag::itself;
  CORACLE_INLINE_TRANSFER()
  static std::coroutine_handle<> continue_with(std::coroutine_handle<> next) noexcept { return next; }
#else
  static constexpr nest_tag unless_transferred = nest_tag::waits;
  CORACLE_INLINE_TRANSFER() static void continue_with(std::coroutine_handle<>) noexcept {}
#endif

  /// Requires: a frame without a mark.
  static void* frame_at(nest_end end) noexcept { return end.pointer_tagged(nest_tag::itself); }
  static generator_state& at(void* frame) noexcept { return handle::from_address(frame).promise(); }

  // Inlined, or the root's address would stay in memory: see below.
  CORACLE_ALWAYS_INLINE() std::exception_ptr take_error() noexcept {
    other_end_ = nest_tag::nobody;
    std::exception_ptr error(std::move(error_));
    error_.~exception_ptr();
    return error;
  }
  CORACLE_FAILS() static void throw_error(const std::exception_ptr error) { rethrow(error); }

  // Not inlined, and without a root parameter: the root's address would stay in memory, and with it the frame
  // of a visible generator, even one that never has a leaf.
  CORACLE_NOINLINE() static void advance_leaf(void* leaf) {
    void* const root = frame_at(at(leaf).other_end_);
    handle::from_address(leaf).resume();
    show_leaf_or_throw(root);
  }
  /// `end_of_root` is the root's link; a leaf tagged `waits` is resumed first.
  CORACLE_NOINLINE() static void show_leaf(nest_end end_of_root) {
    if (end_of_root == nest_tag::nobody) return;
    void* const leaf = end_of_root.pointer();
    show_leaf_or_throw(at(leaf).place_ ? frame_at(at(leaf).other_end_) : leaf);
  }
  CORACLE_ALWAYS_INLINE() static void show_leaf_or_throw(void* root) {
    generator_state& state = at(root);
    while (CORACLE_MIXED_TRANSFER() && state.other_end_.has(nest_tag::waits)) {
      void* const leaf = state.other_end_.pointer_tagged(nest_tag::waits);
      state.other_end_ = leaf == root ? nest_end(nest_tag::itself) : nest_end(leaf);
      handle::from_address(leaf).resume();
    }
    if (state.other_end_.has_pointer()) [[likely]] {
      state.show(at(frame_at(state.other_end_)).shown());
    } else if (state.other_end_ == nest_tag::error_in_root) {
      throw_error(state.take_error());
    }
  }
  CORACLE_COLD() static void destroy_nested(void* leaf) noexcept {
    while (nesting* const place = at(leaf).place_) {
      leaf = place->parent_.address();
      detail::exchange(place->nested_, nullptr).destroy();
    }
  }

  union {
    nesting* place_;            // null in the root
    std::exception_ptr error_;  // of a root that failed
  };
  nest_end other_end_ = nest_tag::nobody;
};

/// A nested generator's node below the generator that yields it: part of the outer one's frame.
template <class Yielded>
class [[nodiscard]] generator_state<Yielded>::nesting {
  friend generator_state;

 public:
  explicit nesting(handle nested) noexcept : nested_(nested) {}
  nesting(const nesting&) = delete;
  nesting& operator=(const nesting&) = delete;
  CORACLE_ALWAYS_INLINE() ~nesting() {
    if (nested_) nested_.destroy();
  }

  bool await_ready() const noexcept { return nested_.address() == nullptr; }
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  auto await_suspend(std::coroutine_handle<Promise> outer) noexcept {
    return enter(outer, *this);
  }
  CORACLE_ALWAYS_INLINE() void await_resume() {
    if (nested_.address() && nested_.promise().failed()) [[unlikely]]
      rethrow_error();
  }

 private:
  CORACLE_FAILS() void rethrow_error() {
    const std::exception_ptr error(std::move(error_));
    error_.~exception_ptr();
    rethrow(error);
  }

  handle nested_;
  union {
    handle parent_;             // while the nested generator is active
    std::exception_ptr error_;  // from its failure until the parent rethrows it
  };
};

/// The awaiter of `co_yield lvalue` in a generator of rvalues: keeps the copy.
template <class Yielded>
class [[nodiscard]] generator_state<Yielded>::yielded_copy {
  using value = std::remove_cvref_t<Yielded>;
  static_assert(
      fits_into_frame<value>,
      "co_yield: compilers misalign the copy of an over-aligned object in a coroutine frame: let the "
      "generator yield const references, which need no copy");

 public:
  explicit yielded_copy(const value& original) noexcept(std::is_nothrow_copy_constructible_v<value>)
      : copy_(original) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    self.promise().show(std::addressof(copy_));
  }
  void await_resume() const noexcept {}

 private:
  value copy_;
};

/// A promise begins with its state, so the handle of one is the handle of the other.
template <class Yielded>
std::coroutine_handle<generator_state<Yielded>> as_state(std::coroutine_handle<> body) noexcept {
  return std::coroutine_handle<generator_state<Yielded>>::from_address(body.address());
}

struct generator_end {
  constexpr generator_end() noexcept {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  auto await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    return self.promise().leave();
  }
  void await_resume() const noexcept {}
};
}  // namespace coracle::detail
