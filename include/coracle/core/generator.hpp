// coracle/core/generator.hpp -- a sequence that a coroutine computes on demand; the semantics of
// std::generator. SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/generator_state.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstddef>
#include <utility>
#if defined(__GLIBCXX__)
#include <span>  // what this needs of <ranges> and <iterator>, at a fifth of the price
#else
#include <iterator>
#include <ranges>
#endif

namespace coracle {
template <class Ref, class Val = void>
class CORACLE_IN_A_REGISTER() generator;

/// `co_yield elements_of(range)` yields each element of a range, or of another generator.
///
///     coracle::generator<int> countdown(int n) {
///       co_yield n;
///       if (n > 0) co_yield coracle::elements_of(countdown(n - 1));
///     }
///
/// A generator that yields the same type is used up, and continued directly however deep it is. Any other
/// range is walked by a coroutine of its own, whose frame comes from `allocator` if one is given.
template <class Range, class Allocator = recycled_frames>
class elements_of {
 public:
  explicit constexpr elements_of(Range&& range, Allocator allocator = Allocator()) noexcept
      : range_(static_cast<Range&&>(range)), allocator_(std::move(allocator)) {}
  constexpr Range&& range() const noexcept { return static_cast<Range&&>(range_); }
  constexpr const Allocator& allocator() const noexcept { return allocator_; }

 private:
  Range&& range_;
  [[no_unique_address]] Allocator allocator_;
};
template <class Range, class Allocator = recycled_frames>
elements_of(Range&&, Allocator = Allocator()) -> elements_of<Range&&, Allocator>;

namespace detail {
/// What `co_yield lvalue` awaits where the generator shows rvalues: keeps the copy that is shown.
template <class Value>
class [[nodiscard]] yielded_copy {
 public:
  explicit yielded_copy(const Value& value) noexcept(std::is_nothrow_copy_constructible_v<Value>)
      : copy_(value) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    self.promise().show(std::addressof(copy_));
  }
  void await_resume() const noexcept {}

 private:
  Value copy_;
};

template <class T, class Yielded>
inline constexpr bool is_generator_of = false;
template <class Ref, class Val, class Yielded>
inline constexpr bool is_generator_of<generator<Ref, Val>, Yielded> =
    std::is_same_v<typename generator<Ref, Val>::yielded, Yielded>;

/// An rvalue of this kind is shown from a copy when the coroutine yields an lvalue.
template <class Yielded>
concept shown_from_copy =
    std::is_rvalue_reference_v<Yielded> &&
    std::constructible_from<std::remove_cvref_t<Yielded>, const std::remove_reference_t<Yielded>&>;

template <class Range, class Yielded>
concept range_of_yielded =
    std::ranges::input_range<Range> &&
    (std::is_convertible_v<std::ranges::range_reference_t<Range>, Yielded> ||
     (shown_from_copy<Yielded> &&
      std::is_convertible_v<std::ranges::range_reference_t<Range>, const std::remove_reference_t<Yielded>&>));

template <class Yielded, class Allocator, class Range>
generator<Yielded> each_of(std::allocator_arg_t, Allocator, Range& range) {
  using shown = std::conditional_t<std::is_convertible_v<std::ranges::range_reference_t<Range>, Yielded>,
                                   Yielded, const std::remove_reference_t<Yielded>&>;
  auto position = std::ranges::begin(range);
  const auto end = std::ranges::end(range);
  for (; position != end; ++position) co_yield static_cast<shown>(*position);
}

template <class Ref, class Val>
struct generator_promise : generator_state<typename generator<Ref, Val>::yielded>,
                           part::starts_lazily,
                           part::awaits_nothing,
                           recycled_frames {
  using yielded = typename generator<Ref, Val>::yielded;

  generator<Ref, Val> get_return_object() noexcept;
  generator_end final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}

  CORACLE_ALWAYS_INLINE()
  std::suspend_always yield_value(std::remove_cvref_t<yielded> value) noexcept
    requires shown_by_value<yielded>
  {
    this->show(value);
    return {};
  }
  CORACLE_ALWAYS_INLINE()
  std::suspend_always yield_value(yielded value) noexcept
    requires(!shown_by_value<yielded>)
  {
    this->show(std::addressof(value));
    return {};
  }
  CORACLE_ALWAYS_INLINE()
  auto yield_value(const std::remove_reference_t<yielded>& value)
    requires(shown_from_copy<yielded> && !shown_by_value<yielded>)
  {
    return yielded_copy<std::remove_cvref_t<yielded>>(value);
  }
  template <class Range, class Allocator>
  auto yield_value(elements_of<Range, Allocator> elements) {
    auto&& range = elements.range();
    using range_type = std::remove_reference_t<Range>;
    if constexpr (is_generator_of<range_type, yielded>) {
      return nest(std::move(range));
    } else {
      constexpr bool fits = range_of_yielded<range_type&, yielded>;
      static_assert(fits,
                    "elements_of needs a generator or an input range whose elements this one can yield");
      if constexpr (fits) {
        return nest(each_of<yielded>(std::allocator_arg, elements.allocator(), range));
      } else {
        return any_awaiter();
      }
    }
  }

 private:
  template <class Nested>
  static nesting<yielded> nest(Nested&& generator) noexcept {
    CORACLE_CHECK(generator.fresh(), "elements_of needs a generator that nobody has begun or moved from");
    return nesting<yielded>(as_state<yielded>(generator.release()));
  }
};
}  // namespace detail

/// A range whose elements a coroutine computes one by one, while its caller waits. `Ref` and `Val` mean what
/// they mean to std::generator: `generator<T>` shows each element as `T&&`, `generator<const T&>` as that.
///
///     coracle::generator<int> first_squares(int count) {
///       for (int i = 0; i != count; ++i) co_yield i * i;
///     }
///     for (int square : first_squares(10)) std::printf("%d\n", square);
///
/// Prefer an async generator when the body has to wait for something.
/// Order         the body runs inside `begin()` and `++`, up to the next `co_yield`.
/// Resumes on    the thread that calls `begin()` or `++`.
/// Cancellation  destroy the generator: the body's locals are destroyed where it stands, innermost first.
/// Exceptions    one that leaves the body is thrown from `begin()` or `++`; out of a nested generator it is
///               thrown from the outer one's `co_yield`.
/// Threads       one at a time.
/// Cost          one frame from the recycler (none where clang dissolves it), an indirect call for an element
///               at any depth, constant stack. An element is shown where it is, without a copy, unless the
///               generator shows `T&&` and the body yields an lvalue, or `T` is trivially copied and no larger
///               than two pointers; what the caller does to such a copy the body does not see.
template <class Ref, class Val>
class [[nodiscard("a generator that nobody iterates over does nothing")]] CORACLE_IN_A_REGISTER() generator {
  using value = std::conditional_t<std::is_void_v<Val>, std::remove_cvref_t<Ref>, Val>;
  using reference = std::conditional_t<std::is_void_v<Val>, Ref&&, Ref>;
  class iterator;

  static_assert(std::is_object_v<value> && std::same_as<std::remove_cv_t<value>, value>,
                "generator<Ref, Val>: Val, or Ref without reference and const, has to be an object type");
  static_assert(std::is_reference_v<reference> ||
                    (std::is_object_v<reference> && std::same_as<std::remove_cv_t<reference>, reference> &&
                     std::copy_constructible<reference>),
                "generator<Ref, Val>: Ref has to be a reference or a copyable object type without const");

 public:
  using yielded = std::conditional_t<std::is_reference_v<reference>, reference, const reference&>;
  using promise_type = detail::generator_promise<Ref, Val>;

  explicit generator(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  generator(generator&& other) noexcept : body_(other.release()) {}
  generator& operator=(generator&& other) noexcept {
    generator(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body where it stands. Requires: it is not running.
  CORACLE_ALWAYS_INLINE() ~generator() {
    if (body_) detail::generator_state<yielded>::destroy(body_, body_.promise());
  }

  void swap(generator& other) noexcept { std::swap(body_, other.body_); }

  /// Runs the body up to its first element. Requires: not empty, and not called before.
  iterator begin() {
    CORACLE_CHECK(fresh(), "begin() needs a generator that nobody has begun or moved from");
    body_.promise().start();
    iterator first{body_};
    ++first;
    return first;
  }
  std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

 private:
  template <class, class>
  friend struct detail::generator_promise;
  bool fresh() const noexcept { return body_ && body_.promise().at_rest() && !body_.done(); }
  std::coroutine_handle<promise_type> release() noexcept { return std::exchange(body_, nullptr); }

  std::coroutine_handle<promise_type> body_;
};

/// Single pass and move-only. Equal to the sentinel once the body has ended, by an exception too.
template <class Ref, class Val>
class generator<Ref, Val>::iterator {
  using state = detail::generator_state<yielded>;

 public:
  using value_type = value;
  using difference_type = std::ptrdiff_t;

  explicit iterator(std::coroutine_handle<promise_type> root) noexcept
      : root_(detail::as_state<yielded>(root)) {}
  iterator(iterator&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  iterator& operator=(iterator&& other) noexcept {
    root_ = std::exchange(other.root_, nullptr);
    return *this;
  }

  CORACLE_ALWAYS_INLINE()
  reference operator*() const
      noexcept(std::is_reference_v<reference> || std::is_nothrow_copy_constructible_v<reference>) {
    CORACLE_CHECK(!root_.promise().at_rest(), "the end of a generator was dereferenced");
    return static_cast<reference>(*root_.promise().shown());
  }
  CORACLE_ALWAYS_INLINE() iterator& operator++() {
    state::advance(root_);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return it.root_.promise().at_rest();
  }

 private:
  typename state::handle root_;
};

namespace detail {
template <class Ref, class Val>
generator<Ref, Val> generator_promise<Ref, Val>::get_return_object() noexcept {
  static_assert(alignof(generator_promise) == alignof(generator_state<yielded>),
                "their handles differ where their alignments do");
  return generator<Ref, Val>{std::coroutine_handle<generator_promise>::from_promise(*this)};
}
}  // namespace detail
}  // namespace coracle

template <class Ref, class Val>
inline constexpr bool std::ranges::enable_view<coracle::generator<Ref, Val>> = true;

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator.
template <class Ref, class Val, class Allocator, class... Args>
struct std::coroutine_traits<coracle::generator<Ref, Val>, std::allocator_arg_t, Allocator, Args...> {
  using promise_type = coracle::detail::allocated_promise<coracle::detail::generator_promise<Ref, Val>,
                                                          std::remove_cvref_t<Allocator>>;
};
template <class Ref, class Val, class This, class Allocator, class... Args>
struct std::coroutine_traits<coracle::generator<Ref, Val>, This, std::allocator_arg_t, Allocator, Args...> {
  using promise_type = coracle::detail::allocated_promise<coracle::detail::generator_promise<Ref, Val>,
                                                          std::remove_cvref_t<Allocator>>;
};
template <class Ref, class Val, class... Args>
struct std::coroutine_traits<coracle::generator<Ref, Val>, std::allocator_arg_t, coracle::recycled_frames,
                             Args...> {
  using promise_type = coracle::detail::generator_promise<Ref, Val>;
};
