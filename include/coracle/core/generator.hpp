// coracle/core/generator.hpp -- a sequence that a coroutine computes on demand; the semantics of
// std::generator. SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>
#if defined(__GLIBCXX__)
#include <span>  // what this needs of <ranges> and <iterator>, at a fifth of the price
#else
#include <iterator>
#include <ranges>
#endif

namespace coracle {
template <class Ref, class Val = void>
class generator;

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
template <class Yielded>
class generator_state;

/// The place of a nested generator below the one that yields it: part of the outer one's frame.
template <class Yielded>
class nesting {
  using state = generator_state<Yielded>;
  friend state;

 public:
  explicit nesting(std::coroutine_handle<state> nested) noexcept : nested_(nested) {}
  nesting(const nesting&) = delete;
  nesting& operator=(const nesting&) = delete;
  CORACLE_ALWAYS_INLINE() ~nesting() {
    if (nested_) nested_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  auto await_suspend(std::coroutine_handle<Promise> outer) noexcept {
    return outer.promise().enter(*this);
  }
  CORACLE_ALWAYS_INLINE() void await_resume() {
    if (nested_.promise().failed()) [[unlikely]]
      rethrow_error();
  }

 private:
  [[noreturn]] CORACLE_COLD() void rethrow_error() {
    const std::exception_ptr error(std::move(error_));
    error_.~exception_ptr();
    rethrow(error);
  }

  std::coroutine_handle<state> nested_;
  union {
    state* parent_;             // while the nested generator is active
    std::exception_ptr error_;  // from when it failed until the parent throws that
  };
};

// The root is the generator that somebody iterates over; its iterator resumes the leaf, the innermost nested
// one, and shows what the leaf shows. Entering and leaving a nested generator transfers to the new leaf where
// there are tail calls. Elsewhere it suspends, and the iterator goes on with the new leaf; either works with
// an iterator from a unit compiled the other way.
//
// Only a generator that nests holds a pointer into its own frame: the compiler can dissolve the others.
template <class Yielded>
class generator_state {
 public:
  using handle = std::coroutine_handle<generator_state>;
  using pointer = std::add_pointer_t<Yielded>;

  CORACLE_ALWAYS_INLINE() void show(pointer value) noexcept { value_ = value; }
  /// Of the root: its current element; null: it has not started, or has ended.
  pointer shown() const noexcept { return value_; }

  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() auto enter(nesting<Yielded>& place) noexcept {
    generator_state& child = place.nested_.promise();
    generator_state* const root = place_ ? other_end_ : this;
    place.parent_ = this;
    child.place_ = &place;
    child.other_end_ = root;
    root->other_end_ = &child;
    value_ = nullptr;
    return go_on_with(place.nested_);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() auto leave() noexcept {
    value_ = nullptr;
    if (!place_ && (!other_end_ || other_end_ == this)) return go_on_with(std::noop_coroutine());
    generator_state& root = *other_end_;
    if (place_) root.other_end_ = place_->parent_;  // else it failed, and has handed over already
    root.value_ = nullptr;
    return go_on_with(handle::from_promise(*root.other_end_));
  }
  void unhandled_exception() {
    if (place_) {
      nesting<Yielded>& place = *std::exchange(place_, nullptr);
      other_end_->other_end_ = place.parent_;
      ::new (static_cast<void*>(std::addressof(place.error_))) std::exception_ptr(std::current_exception());
    } else {
      value_ = nullptr;
#if CORACLE_EXCEPTIONS()
      throw;
#endif
    }
  }
  /// Of a nested generator that has ended: an exception left its body.
  bool failed() const noexcept { return !place_; }

  /// Runs until the root shows its next element or has ended. Requires: `root` is a root, not ended.
  CORACLE_ALWAYS_INLINE() static void advance(handle root) {
    generator_state& state = root.promise();
    if (!state.other_end_) [[likely]] {
      root.resume();
      if (state.value_ || !state.other_end_) [[likely]]
        return;
    } else {
      handle::from_promise(*state.other_end_).resume();
    }
    while (!(state.value_ = state.other_end_->value_) && !root.done()) {
      handle::from_promise(*state.other_end_).resume();
    }
  }
  /// Destroys the leaf first and the root last, so that depth costs no stack.
  CORACLE_ALWAYS_INLINE() static void destroy(std::coroutine_handle<> root, generator_state& state) noexcept {
    if (state.other_end_) [[unlikely]]
      state.destroy_nested();
    root.destroy();
  }

 private:
#if CORACLE_TAIL_TRANSFER()
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() static std::coroutine_handle<> go_on_with(std::coroutine_handle<> next) noexcept {
    return next;
  }
#else
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() static void go_on_with(std::coroutine_handle<>) noexcept {}
#endif
  CORACLE_COLD() void destroy_nested() noexcept {
    while (nesting<Yielded>* const place = other_end_->place_) {
      other_end_ = place->parent_;
      std::exchange(place->nested_, nullptr).destroy();
    }
  }

  pointer value_ = nullptr;               // null unless suspended where it yields a value
  nesting<Yielded>* place_ = nullptr;     // null in the root
  generator_state* other_end_ = nullptr;  // in the root its leaf (null until it nests), elsewhere the root
};

/// A promise begins with its state, so the handle of the one is the handle of the other.
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

  CORACLE_ALWAYS_INLINE() std::suspend_always yield_value(yielded value) noexcept {
    this->show(std::addressof(value));
    return {};
  }
  CORACLE_ALWAYS_INLINE()
  auto yield_value(const std::remove_reference_t<yielded>& value)
    requires shown_from_copy<yielded>
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
///               body yields an lvalue and the generator shows `T&&`.
template <class Ref, class Val>
class [[nodiscard("a generator that nobody iterates over does nothing")]] generator {
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
    iterator first{body_};
    ++first;
    return first;
  }
  std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

 private:
  template <class, class>
  friend struct detail::generator_promise;
  bool fresh() const noexcept { return body_ && !body_.promise().shown() && !body_.done(); }
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
    CORACLE_CHECK(root_.promise().shown(), "the end of a generator was dereferenced");
    return static_cast<reference>(*root_.promise().shown());
  }
  CORACLE_ALWAYS_INLINE() iterator& operator++() {
    state::advance(root_);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
    return !it.root_.promise().shown();
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
