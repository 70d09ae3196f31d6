// coracle/generators/generator.hpp -- a lazy sequence with the semantics of std::generator.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/exchange.hpp>
#include <coracle/base/view_interface.hpp>
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/generators/detail/generator_promise.hpp>
#include <coroutine>
#include <cstddef>
#include <utility>

namespace coracle {
/// A range whose elements a coroutine computes on demand, synchronously. `Ref`, `Val` and `Allocator` have
/// std::generator's meaning: the reference type of `generator<T>` is `T&&`, of `generator<const T&>`
/// `const T&`.
///
///     coracle::generator<int> first_squares(int count) {
///       for (int i = 0; i != count; ++i) co_yield i * i;
///     }
///     for (int square : first_squares(10)) std::printf("%d\n", square);
///
/// g++ 12: name a braced aggregate first, and move it: `co_yield entry{key, text}` destroys it twice.
/// Prefer async_generator if the body has to await something.
/// Order         the body runs inside `begin()` and `++`, up to the next `co_yield`.
/// Resumes on    the thread that calls `begin()` or `++`.
/// Cancellation  destroy the generator: the locals of its bodies are destroyed, innermost first.
/// Exceptions    an exception that leaves the body is thrown from `begin()` or `++`; one that leaves a nested
///               generator, from the outer one's `co_yield`.
/// Threads       one at a time.
/// Cost          one frame (none if clang dissolves it), an indirect call per element at any depth, constant
///               stack. The yielded object is exposed without a copy, unless it is an lvalue and the
///               reference type is `T&&`. Frames come from the recycler, or from `Allocator`.
/// Beyond std    `elements_of` also takes a range of lvalues if the reference type is `T&&`, and uses the
///               recycler by default. `std::allocator_arg` may be followed by a `memory_resource*` even if
///               `Allocator` is void. An allocator passed to such a coroutine changes its promise type, so
///               `promise_type` itself has no `operator new` for it.
template <class Ref, class Val, class Allocator>
class [[nodiscard("a generator does nothing until it is iterated over")]] CORACLE_IN_A_REGISTER() generator
    : public std::ranges::view_interface<generator<Ref, Val, Allocator>> {
  using value = std::conditional_t<std::is_void_v<Val>, std::remove_cvref_t<Ref>, Val>;
  using reference = std::conditional_t<std::is_void_v<Val>, Ref&&, Ref>;
  class iterator;

  static_assert(std::is_object_v<value> && std::same_as<std::remove_cv_t<value>, value>,
                "generator<Ref, Val>: Val, or Ref without reference and const, must be an object type");
  static_assert(std::is_reference_v<reference> ||
                    (std::is_object_v<reference> && std::same_as<std::remove_cv_t<reference>, reference> &&
                     std::copy_constructible<reference>),
                "generator<Ref, Val>: Ref must be a reference or a copyable object type without const");
  using rvalue =
      std::conditional_t<std::is_reference_v<reference>, std::remove_reference_t<reference>&&, reference>;
  static_assert(std::common_reference_with<reference&&, value&> &&
                    std::common_reference_with<reference&&, rvalue&&> &&
                    std::common_reference_with<rvalue&&, const value&>,
                "generator<Ref, Val>: Ref and Val need a common reference, as for any range");

 public:
  using yielded = std::conditional_t<std::is_reference_v<reference>, reference, const reference&>;
  // A member, for the reason given above generator_state.
  struct promise_type : detail::allocated_promise<detail::generator_promise<yielded>, Allocator> {
    generator get_return_object() noexcept {
      static_assert(alignof(promise_type) == alignof(detail::generator_state<yielded>),
                    "promise and state must be equally aligned, or their handles differ");
      return generator(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  explicit generator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  generator(generator&& other) noexcept : body_(other.release()) {}
  generator& operator=(generator&& other) noexcept {
    generator(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body at its suspension point. Requires: it is not running.
  CORACLE_ALWAYS_INLINE() ~generator() {
    if (body_) detail::generator_state<yielded>::destroy(body_, body_.promise());
  }

  void swap(generator& other) noexcept { detail::swap_values(body_, other.body_); }

  /// Runs the body up to its first element. Requires: not empty, and not called before.
  iterator begin() {
    CORACLE_CHECK(fresh(), "begin() needs a generator that has not been started or moved from");
    body_.promise().start();
    iterator first{body_};
    ++first;
    return first;
  }
  std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

 private:
  template <class>
  friend class detail::generator_promise;
  bool fresh() const noexcept { return body_.address() && body_.promise().at_rest() && !body_.done(); }
  std::coroutine_handle<promise_type> release() noexcept { return detail::exchange(body_, nullptr); }

  std::coroutine_handle<promise_type> body_;
};

/// Single-pass and move-only. Equal to the sentinel once the body has ended, also by an exception.
template <class Ref, class Val, class Allocator>
class generator<Ref, Val, Allocator>::iterator {
  using state = detail::generator_state<yielded>;

 public:
  using value_type = value;
  using difference_type = std::ptrdiff_t;

  explicit iterator(std::coroutine_handle<promise_type> root) noexcept
      : root_(detail::as_state<yielded>(root)) {}
  iterator(iterator&& other) noexcept : root_(detail::exchange(other.root_, nullptr)) {}
  iterator& operator=(iterator&& other) noexcept {
    root_ = detail::exchange(other.root_, nullptr);
    return *this;
  }

  CORACLE_ALWAYS_INLINE()
  reference operator*() const
      noexcept(std::is_reference_v<reference> || std::is_nothrow_copy_constructible_v<reference>) {
    CORACLE_CHECK(at_element(),
                  "the end of a generator was dereferenced: compare the iterator with end() first");
    return static_cast<reference>(*root_.promise().shown());
  }
  /// Requires: not at the end.
  CORACLE_ALWAYS_INLINE() iterator& operator++() {
    CORACLE_CHECK(at_element(),
                  "an iterator at the end of a generator was incremented: compare it with end() first");
    state::advance(root_);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return it.root_.promise().at_rest();
  }

 private:
  bool at_element() const noexcept { return root_.address() && !root_.promise().at_rest(); }

  typename state::handle root_;
};

}  // namespace coracle

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator, or from a
/// `std::pmr::memory_resource*`.
template <class Ref, class Val, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<coracle::generator<Ref, Val>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<typename coracle::generator<Ref, Val>::promise_type,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
