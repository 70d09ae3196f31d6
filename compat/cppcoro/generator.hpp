// cppcoro/generator.hpp -- cppcoro's generator: its elements are lvalues, and it may be empty.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/call.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <cppcoro/detail/fmap_tag.hpp>
#include <cstddef>
#include <iterator>
#include <utility>

namespace cppcoro {
template <class T>
class generator;

namespace detail {
template <class T>
struct generator_promise : coracle::part::starts_lazily,
                           coracle::part::returns<void, coracle::part::rethrows_errors>,
                           coracle::part::stays_at_end,
                           coracle::part::awaits_nothing,
                           coracle::recycled_frames {
  using element = std::remove_reference_t<T>;

  generator<T> get_return_object() noexcept;
  std::suspend_always yield_value(element& value) noexcept
    requires(!std::is_rvalue_reference_v<T>)
  {
    shown = std::addressof(value);
    return {};
  }
  std::suspend_always yield_value(element&& value) noexcept {
    shown = std::addressof(value);
    return {};
  }

  element* shown = nullptr;
};
}  // namespace detail

/// A range whose elements a coroutine computes one by one. `generator<T>` shows each element as `T&` where
/// the body holds it, also one that the body yields as an rvalue.
///
///     cppcoro::generator<const int> squares(int count) {
///       for (int i = 0; i != count; ++i) co_yield i * i;
///     }
///
/// Prefer coracle::generator in new code: it has the semantics of std::generator.
/// Order       the body runs inside `begin()` and `++`, up to the next `co_yield`.
/// Exceptions  one that leaves the body is thrown from `begin()` or `++`; the sequence has then ended.
/// Threads     one at a time.
/// Cost        one frame from the recycler, an indirect call for an element.
template <class T>
class [[nodiscard("a generator does nothing until it is iterated over")]] generator {
 public:
  using promise_type = detail::generator_promise<T>;
  class iterator;

  /// The empty sequence.
  generator() noexcept = default;
  explicit generator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  generator(generator&& other) noexcept : body_(coracle::detail::exchange(other.body_, nullptr)) {}
  generator& operator=(generator other) noexcept {
    swap(other);
    return *this;
  }
  ~generator() {
    if (body_) body_.destroy();
  }

  void swap(generator& other) noexcept { coracle::detail::swap_values(body_, other.body_); }
  friend void swap(generator& a, generator& b) noexcept { a.swap(b); }

  /// Runs the body to its next element.
  iterator begin() {
    iterator next{body_};
    if (next != end()) ++next;
    return next;
  }
  std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

 private:
  std::coroutine_handle<promise_type> body_;
};

/// Single pass; a copy is the same position.
template <class T>
class generator<T>::iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = std::remove_reference_t<T>;
  using reference = std::conditional_t<std::is_reference_v<T>, T, T&>;
  using pointer = value_type*;

  iterator() noexcept = default;
  explicit iterator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}

  reference operator*() const noexcept { return static_cast<reference>(*body_.promise().shown); }
  pointer operator->() const noexcept { return body_.promise().shown; }
  /// Requires: not at the end.
  iterator& operator++() {
    CORACLE_CHECK(body_ && !body_.done(),
                  "an iterator at the end of a generator was incremented: compare it with end() first");
    body_.resume();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& position, std::default_sentinel_t) noexcept {
    return !position.body_ || position.body_.done();
  }

 private:
  std::coroutine_handle<promise_type> body_;
};

/// The generator of `function(element)` for each element of `source`.
template <class Function, class T>
generator<std::invoke_result_t<Function&, typename generator<T>::iterator::reference>> fmap(
    Function function, generator<T> source) {
  for (auto&& element : source)
    co_yield coracle::detail::call(function, static_cast<decltype(element)>(element));
}

namespace detail {
template <class T>
generator<T> generator_promise<T>::get_return_object() noexcept {
  return generator<T>{std::coroutine_handle<generator_promise>::from_promise(*this)};
}
template <class Function, class T>
auto mapped(fmap_tag, Function&& function, generator<T> source) {
  return cppcoro::fmap(std::decay_t<Function>(static_cast<Function&&>(function)), std::move(source));
}
}  // namespace detail
}  // namespace cppcoro
