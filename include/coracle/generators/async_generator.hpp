// coracle/generators/async_generator.hpp -- a lazy sequence whose body may await between elements.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/call.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

namespace coracle {
template <class T>
class async_generator;

namespace detail {
/// The reference type of an async_generator: an lvalue, unless `T` is itself a reference.
template <class T>
using shown_by_async = std::conditional_t<std::is_reference_v<T>, T, T&>;

// Body and consumer alternate: the coroutine that awaits the next element is the parent of the body until the
// body yields or ends, as if it were a task that ends once per element. So nothing here is atomic.
template <class T>
class async_generator_promise : public part::continues_parent,
                                public part::starts_lazily,
                                public part::awaits_anything,
                                public recycled_frames {
  using object = std::remove_reference_t<T>;
  static constexpr bool shows_mutable = !std::is_reference_v<T> && !std::is_const_v<T>;

  /// The awaiter of `co_yield` for a const lvalue where elements are mutable: keeps the copy.
  class CORACLE_CHECKED_ABI() yielded_copy : public final_awaiter {
    static_assert(
        fits_into_frame<object>,
        "co_yield: compilers misalign the copy of an over-aligned object in a coroutine frame: let the "
        "generator yield const references, which need no copy");

   public:
    explicit yielded_copy(const object& value) noexcept(std::is_nothrow_copy_constructible_v<object>)
        : copy_(value) {}
    CORACLE_TRANSFER_ABI()
    std::coroutine_handle<> await_suspend(std::coroutine_handle<async_generator_promise> self) noexcept {
      self.promise().element_ = __builtin_addressof(copy_);
      return transfer_to(self.promise().parent());
    }

   private:
    object copy_;
  };

 public:
  async_generator<T> get_return_object() noexcept;
  CORACLE_ALWAYS_INLINE() final_awaiter yield_value(shown_by_async<T> value) noexcept {
    element_ = __builtin_addressof(value);
    return {};
  }
  CORACLE_ALWAYS_INLINE()
  final_awaiter yield_value(object&& value) noexcept
    requires shows_mutable
  {
    element_ = __builtin_addressof(value);
    return {};
  }
  auto yield_value(const object& value) noexcept(std::is_nothrow_copy_constructible_v<object>)
    requires shows_mutable && std::copy_constructible<object>
  {
    return yielded_copy(value);
  }
  template <class Value>
    requires(!converts_to<Value, const object&>)
  auto yield_value(Value&&) noexcept {
    return detail::no_element<T>();
  }
  void return_void() noexcept { element_ = nullptr; }
  void unhandled_exception() noexcept {
    element_ = nullptr;
    error_ = std::current_exception();
  }

  /// Call before the consumer resumes the body.
  CORACLE_ALWAYS_INLINE() void begin_step() noexcept {
    if constexpr (CORACLE_CHECKS()) {
      auto* const under_way = static_cast<object*>(static_cast<void*>(this));  // no element has this address
      CORACLE_REQUIRE(
          element_ != under_way,
          "concurrent awaits of an async_generator's next element: it has one consumer at a time");
      element_ = under_way;
    }
  }
  /// For a step that first gives way to others.
  resumption& its_turn(std::coroutine_handle<> body) noexcept {
    turn_.handle = body;
    return turn_;
  }
  /// Null before the first element and after the last.
  object* element() const noexcept { return element_; }
  /// The result of the last step: the element, or null if the body has ended. Throws the body's exception,
  /// once.
  CORACLE_ALWAYS_INLINE() object* take_step() {
    if (!element_ && error_) [[unlikely]]
      throw_error();
    return element_;
  }
  /// Returns what take_step() would throw, once, or null.
  std::exception_ptr take_failure() noexcept { return detail::exchange(error_, nullptr); }

 private:
  CORACLE_FAILS() void throw_error() {
    const std::exception_ptr error = detail::exchange(error_, nullptr);
    rethrow(error);
  }

  object* element_ = nullptr;
  std::exception_ptr error_;
  resumption turn_;
};
}  // namespace detail

/// A sequence that a coroutine computes one element at a time, where it may `co_await` between them.
///
///     coracle::async_generator<int> lengths(coracle::async_generator<std::string> lines) {
///       while (const std::string* line = co_await lines.next()) co_yield static_cast<int>(line->size());
///     }
///
/// `async_generator<T>` exposes each element in place, as `T&`: the consumer may modify it or move it out.
/// Only a const lvalue yielded where `T` is not const is copied.
/// g++ 12: name a braced aggregate first, and move it: `co_yield entry{key, text}` destroys it twice.
/// Prefer generator if the body never awaits.
/// Order         the body runs inside the await of `begin()`, `++` or `next()`, up to the next `co_yield`. As
///               with every await, each 128th ready one in a row lets others on the executor run first.
/// Resumes on    the consumer on the thread that yielded the element or ended the body, as after a task; the
///               body on the thread that awaits the next element.
/// Cancellation  at each await the body inherits the consumer's environment. Destroy the generator to end it
///               early: its locals are destroyed.
/// Exceptions    an exception that leaves the body is thrown from that await, once, and ends the sequence.
/// Threads       one consumer at a time; body and consumer may move from thread to thread.
/// Cost          one frame from the recycler; two transfers per element, no atomic operation, constant stack.
template <class T>
class [[nodiscard("an async_generator does nothing until an element is awaited")]] async_generator {
  static_assert(!std::is_void_v<T>, "async_generator<T> needs elements: an object type or a reference");
  class step;
  class begin_operation;
  class increment_operation;
  class next_operation;

 public:
  using promise_type = detail::async_generator_promise<T>;
  class iterator;

  async_generator() noexcept = default;
  explicit async_generator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  async_generator(async_generator&& other) noexcept : body_(detail::exchange(other.body_, nullptr)) {}
  async_generator& operator=(async_generator&& other) noexcept {
    async_generator(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body at its suspension point. Requires: it is not running and not about to be resumed.
  ~async_generator() {
    if (body_) body_.destroy();
  }

  void swap(async_generator& other) noexcept { detail::swap_values(body_, other.body_); }
  friend void swap(async_generator& a, async_generator& b) noexcept { a.swap(b); }

  /// Awaitable of a pointer to the next element; null if the generator is empty or has ended. The element
  /// lives until the next one is awaited.
  next_operation next() & noexcept { return next_operation{body_}; }
  /// Awaitable of an iterator to the next element, or of `end()`:
  /// `for (auto it = co_await g.begin(); it != g.end(); co_await ++it)`.
  begin_operation begin() & noexcept { return begin_operation{body_}; }
  iterator end() const noexcept { return iterator{}; }

  template <class Self = async_generator>
  auto next() && {
    static_assert(!sizeof(Self*), "give the async_generator a name: its elements end with it");
    return detail::any_awaiter{};
  }
  template <class Self = async_generator>
  auto begin() && {
    static_assert(!sizeof(Self*), "give the async_generator a name: its elements end with it");
    return detail::any_awaiter{};
  }

 private:
  std::coroutine_handle<promise_type> body_;
};

/// A copyable position. Equal to `end()` once the body has ended, also by an exception.
template <class T>
class async_generator<T>::iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = std::remove_cvref_t<T>;
  using reference = detail::shown_by_async<T>;
  using pointer = std::add_pointer_t<T>;

  iterator() noexcept = default;
  explicit iterator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}

  reference operator*() const noexcept { return static_cast<reference>(*operator->()); }
  pointer operator->() const noexcept {
    CORACLE_CHECK(element(),
                  "the end of an async_generator was dereferenced: compare the iterator with end() first");
    return element();
  }
  /// Awaitable of this iterator, advanced to the next element or the end; at the end it stays there.
  increment_operation operator++() noexcept { return increment_operation{body_, *this}; }
  friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.element() == b.element(); }

 private:
  pointer element() const noexcept { return body_ ? body_.promise().element() : nullptr; }

  std::coroutine_handle<promise_type> body_;
};

/// Runs the body to its next co_yield or its end.
template <class T>
class async_generator<T>::step {
 public:
  explicit step(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  bool await_ready() const noexcept { return !body_ || body_.done(); }
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> consumer) noexcept {
    const auto body = body_;  // read once: the compiler cannot know that set_parent() leaves this alone
    body.promise().begin_step();
    body.promise().set_parent(consumer);
    if (detail::has_to_give_way()) [[unlikely]]
      return give_way_before(body);
    return coracle::transfer_to(body);
  }
  /// As reports_failure: the exception of a body that was compiled with exceptions, as the library is.
  [[nodiscard]] std::exception_ptr await_failure() noexcept {
    return body_ ? body_.promise().take_failure() : nullptr;
  }

 protected:
  CORACLE_ALWAYS_INLINE() std::add_pointer_t<T> take() const {
    return body_ ? body_.promise().take_step() : nullptr;
  }
  CORACLE_RARE_TRANSFER()
  static std::coroutine_handle<> give_way_before(std::coroutine_handle<promise_type> body) noexcept {
    return detail::give_way(body.promise().its_turn(body)) ? std::noop_coroutine()
                                                           : coracle::transfer_to(body);
  }
  std::coroutine_handle<promise_type> body_;
};
template <class T>
class [[nodiscard("next() does nothing until it is awaited")]] async_generator<T>::next_operation
    : public step {
 public:
  using step::step;
  CORACLE_ALWAYS_INLINE() std::add_pointer_t<T> await_resume() const { return this->take(); }
};
template <class T>
class [[nodiscard("begin() does nothing until it is awaited")]] async_generator<T>::begin_operation
    : public step {
 public:
  using step::step;
  CORACLE_ALWAYS_INLINE() iterator await_resume() const {
    static_cast<void>(this->take());
    return iterator{this->body_};
  }

  // These reject a range-for in one error.
  template <class Self = begin_operation>
  bool operator!=(const iterator&) const {
    static_assert(!sizeof(Self*),
                  "a range-for awaits nothing: while (auto* each = co_await g.next()) takes each element");
    return false;
  }
  void operator++() const;
  detail::shown_by_async<T> operator*() const;
};
template <class T>
class [[nodiscard(
    "++ does nothing until it is awaited: co_await ++it")]] async_generator<T>::increment_operation
    : public step {
 public:
  explicit increment_operation(std::coroutine_handle<promise_type> body, iterator& position) noexcept
      : step(body), position_(position) {}
  CORACLE_ALWAYS_INLINE() iterator& await_resume() const {
    static_cast<void>(this->take());
    return position_;
  }

 private:
  iterator& position_;
};

/// Returns an async_generator of `function(element)` for each element of `source`.
///
///     auto square = [](int x) { return x * x; };
///     auto squares = coracle::fmap(numbers(), square);
template <class Function, class T>
async_generator<std::invoke_result_t<Function&, detail::shown_by_async<T>>> fmap(async_generator<T> source,
                                                                                 Function function) {
  while (auto* element = co_await source.next()) {
    co_yield detail::call(function, static_cast<detail::shown_by_async<T>>(*element));
  }
}

namespace detail {
template <class T>
async_generator<T> async_generator_promise<T>::get_return_object() noexcept {
  return async_generator<T>{std::coroutine_handle<async_generator_promise>::from_promise(*this)};
}
}  // namespace detail
}  // namespace coracle

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator, or from a
/// `std::pmr::memory_resource*`.
template <class T, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<coracle::async_generator<T>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::async_generator_promise<T>,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
