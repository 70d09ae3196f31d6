// coracle/generators/recursive_generator.hpp -- a generator that can yield other generators of its type.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/call.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/generators/generator.hpp>

namespace coracle {
template <class T>
class CORACLE_IN_A_REGISTER() recursive_generator;

namespace detail {
/// The reference type of a recursive_generator: an lvalue, unless `T` is itself a reference.
template <class T>
using shown_by_recursive = std::conditional_t<std::is_reference_v<T>, T, T&>;

template <class T>
struct recursive_generator_promise : generator_promise<shown_by_recursive<T>>, recycled_frames {
  using yielded = shown_by_recursive<T>;
  using base = generator_promise<yielded>;
  using nesting = typename base::nesting;
  using object = std::remove_reference_t<T>;
  static constexpr bool shows_mutable = !std::is_reference_v<T> && !std::is_const_v<T>;

  using base::yield_value;
  CORACLE_ALWAYS_INLINE()
  std::suspend_always yield_value(object&& value) noexcept
    requires shows_mutable
  {
    this->show(std::addressof(value));
    return {};
  }
  CORACLE_ALWAYS_INLINE()
  auto yield_value(const object& value)
    requires shows_mutable && std::copy_constructible<object>
  {
    return typename base::yielded_copy(value);
  }
  nesting yield_value(recursive_generator<T>& nested) noexcept {
    CORACLE_CHECK(!nested.is_at_element(), "co_yield needs a generator that has not been started");
    if (nested.is_at_end()) return nesting(nullptr);
    return nesting(detail::as_state<yielded>(detail::exchange(nested.body_, nullptr)));
  }
  nesting yield_value(recursive_generator<T>&& nested) noexcept { return yield_value(nested); }
};
}  // namespace detail

/// A generator whose body may `co_yield` an element or another such generator, whose elements then follow.
///
///     coracle::recursive_generator<const int> countdown(int n) {
///       co_yield n;
///       if (n > 0) co_yield countdown(n - 1);
///     }
///
/// `recursive_generator<T>` exposes each element in place, as `T&`: the caller may modify it or move it out.
/// Only a const lvalue yielded where `T` is not const is copied. A yielded generator is consumed; an empty
/// one, or one at its end, yields nothing. Iterators are copyable.
/// g++ 12: name a braced aggregate first, and move it: `co_yield entry{key, text}` destroys it twice.
/// Prefer generator and elements_of in new code: they match std::generator.
/// Order         the body runs inside `begin()` and `++`, up to the next `co_yield`.
/// Resumes on    the thread that calls `begin()` or `++`.
/// Cancellation  destroy the generator: the locals of its bodies are destroyed, innermost first.
/// Exceptions    an exception that leaves the body is thrown from `begin()` or `++`, and ends the sequence;
///               one that leaves a nested generator is thrown from the outer one's `co_yield`.
/// Threads       one at a time.
/// Cost          as generator: a frame per level, an indirect call per element at any depth, constant stack.
template <class T>
class [[nodiscard("a generator does nothing until it is iterated over")]] CORACLE_IN_A_REGISTER()
    recursive_generator {
  static_assert(!std::is_void_v<T>, "recursive_generator<T> needs elements: an object type or a reference");
  using state = detail::generator_state<detail::shown_by_recursive<T>>;

 public:
  struct promise_type : detail::recursive_generator_promise<T> {
    recursive_generator get_return_object() noexcept {
      static_assert(alignof(promise_type) == alignof(state),
                    "promise and state must be equally aligned, or their handles differ");
      return recursive_generator(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  class iterator;

  recursive_generator() noexcept = default;
  explicit recursive_generator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  recursive_generator(recursive_generator&& other) noexcept : body_(detail::exchange(other.body_, nullptr)) {}
  recursive_generator& operator=(recursive_generator&& other) noexcept {
    recursive_generator(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body at its suspension point. Requires: it is not running.
  CORACLE_ALWAYS_INLINE() ~recursive_generator() {
    if (body_) state::destroy(body_, body_.promise());
  }

  void swap(recursive_generator& other) noexcept { detail::swap_values(body_, other.body_); }
  friend void swap(recursive_generator& a, recursive_generator& b) noexcept { a.swap(b); }

  /// Runs the body to its next element: the first one or, after a loop that was left early, the one after
  /// that. Returns the end if the generator is empty or has ended.
  iterator begin() {
    iterator next{body_};
    if (!is_at_end()) {
      if (!is_at_element()) body_.promise().start();
      ++next;
    }
    return next;
  }
  iterator end() const noexcept { return iterator{}; }

 private:
  friend detail::recursive_generator_promise<T>;
  bool is_at_element() const noexcept { return body_.address() && !body_.promise().at_rest(); }
  bool is_at_end() const noexcept { return !body_.address() || body_.done(); }

  std::coroutine_handle<promise_type> body_;
};

/// Single-pass. Equal to `end()` once the body has ended, also by an exception.
template <class T>
class recursive_generator<T>::iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = std::remove_cvref_t<T>;
  using reference = detail::shown_by_recursive<T>;
  using pointer = std::add_pointer_t<T>;

  iterator() noexcept = default;
  explicit iterator(std::coroutine_handle<promise_type> root) noexcept
      : root_(root ? detail::as_state<detail::shown_by_recursive<T>>(root) : nullptr) {}

  CORACLE_ALWAYS_INLINE() reference operator*() const noexcept {
    return static_cast<reference>(*operator->());
  }
  CORACLE_ALWAYS_INLINE() pointer operator->() const noexcept {
    CORACLE_CHECK(address_unless_ended(),
                  "the end of a generator was dereferenced: compare the iterator with end() first");
    return root_.promise().shown();
  }
  /// Requires: not at the end.
  CORACLE_ALWAYS_INLINE() iterator& operator++() {
    CORACLE_CHECK(root_.address() && !root_.done(),
                  "an iterator at the end of a generator was incremented: compare it with end() first");
    state::advance(root_);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& a, const iterator& b) noexcept {
    return a.address_unless_ended() == b.address_unless_ended();
  }

 private:
  const void* address_unless_ended() const noexcept {
    return root_.address() && !root_.promise().at_rest() ? root_.address() : nullptr;
  }

  typename state::handle root_;
};

/// Returns a generator of `function(element)` for each element of `source`.
template <class Function, class T>
generator<std::invoke_result_t<Function&, detail::shown_by_recursive<T>>> fmap(recursive_generator<T> source,
                                                                               Function function) {
  for (auto&& element : source) {
    co_yield detail::call(function, static_cast<decltype(element)>(element));
  }
}

}  // namespace coracle

template <class T>
inline constexpr bool std::ranges::enable_view<coracle::recursive_generator<T>> = true;

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator, or from a
/// `std::pmr::memory_resource*`.
template <class T, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<coracle::recursive_generator<T>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<typename coracle::recursive_generator<T>::promise_type,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
