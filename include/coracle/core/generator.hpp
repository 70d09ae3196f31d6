// coracle/core/generator.hpp -- a sequence that a coroutine computes on demand; the semantics of
// std::generator. SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstddef>
#include <cstdint>
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

  bool await_ready() const noexcept { return !nested_; }
  template <class Promise>
  CORACLE_ALWAYS_INLINE()
  auto await_suspend(std::coroutine_handle<Promise> outer) noexcept {
    return state::enter(outer, *this);
  }
  CORACLE_ALWAYS_INLINE() void await_resume() {
    if (nested_ && nested_.promise().failed()) [[unlikely]]
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
    std::coroutine_handle<state> parent_;  // while the nested generator is active
    std::exception_ptr error_;             // from when it failed until the parent throws that
  };
};

/// An element of this kind is shown from a copy in the promise: that costs no more than to point at it, and a frame without
/// a pointer into itself is one that the compiler can dissolve into registers.
template <class Yielded>
concept shown_by_value =
    std::is_rvalue_reference_v<Yielded> && !std::is_volatile_v<std::remove_reference_t<Yielded>> &&
    std::is_trivially_copy_constructible_v<std::remove_cvref_t<Yielded>> &&
    std::is_trivially_destructible_v<std::remove_cvref_t<Yielded>> &&
    sizeof(std::remove_cvref_t<Yielded>) <= 2 * sizeof(void*) &&
    alignof(std::remove_cvref_t<Yielded>) <= alignof(void*);

/// What a generator shows: a pointer to it, or a copy.
template <class Yielded>
class shown_element {
 public:
  using pointer = std::add_pointer_t<Yielded>;
  CORACLE_ALWAYS_INLINE() void show(pointer value) noexcept { value_ = value; }
  CORACLE_ALWAYS_INLINE() void show_that_of(const shown_element& other) noexcept { value_ = other.value_; }
  CORACLE_ALWAYS_INLINE() pointer shown() noexcept { return value_; }

 private:
  pointer value_ = nullptr;
};
template <shown_by_value Yielded>
class shown_element<Yielded> {
  using object = std::remove_cvref_t<Yielded>;

 public:
  CORACLE_ALWAYS_INLINE() shown_element() noexcept {}
  CORACLE_ALWAYS_INLINE() void show(const object& value) noexcept {
    ::new (static_cast<void*>(std::addressof(value_))) object(value);
  }
  CORACLE_ALWAYS_INLINE() void show_that_of(const shown_element& other) noexcept { show(other.value_); }
  CORACLE_ALWAYS_INLINE() object* shown() noexcept { return std::addressof(value_); }

 private:
  union {
    object value_;
  };
};

// The root is the generator that somebody iterates over; its iterator resumes the leaf, the innermost nested
// one, and shows what the leaf shows. Entering and leaving a nested generator transfers to the new leaf where
// there are tail calls. Elsewhere it suspends, and the iterator goes on with the new leaf; either works with
// an iterator from a unit compiled the other way.
//
// Only a generator that nests gives a pointer to its frame away: the compiler can dissolve the others.
template <class Yielded>
class generator_state : public shown_element<Yielded> {
 public:
  using handle = std::coroutine_handle<generator_state>;

  generator_state() noexcept : place_(nullptr) {}
  ~generator_state() {}

  /// Of a root: it has not started, or has ended.
  bool at_rest() const noexcept { return other_end_ == nobody; }
  /// Requires: it has not started. advance() runs it from there.
  void start() noexcept { other_end_ = itself; }

  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE()
  static auto enter(std::coroutine_handle<> outer, nesting<Yielded>& place) noexcept {
    const handle nested = place.nested_;
    const generator_state& parent = at(address_of(outer));
    const address root = parent.place_ ? parent.other_end_ : address_of(outer);
    place.parent_ = handle_of(address_of(outer));
    nested.promise().place_ = &place;
    nested.promise().other_end_ = root;
    at(root).other_end_ = address_of(nested) | unless_transferred;
    return go_on_with(nested);
  }
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() auto leave() noexcept {
    if (other_end_ <= error_in_root) {
      if (other_end_ == itself) other_end_ = nobody;
      return go_on_with(std::noop_coroutine());
    }
    const address root = other_end_;
    const address next =
        place_ ? address_of(place_->parent_) : at(root).other_end_;  // handed over where it failed
    at(root).other_end_ = CORACLE_TAIL_TRANSFER() && next == root ? itself : next | unless_transferred;
    return go_on_with(handle_of(next));
  }
  // Kept here, not thrown on: where an exception may leave the body clang saves more registers at each resumption.
  void unhandled_exception() noexcept {
    std::exception_ptr* error = std::addressof(error_);
    if (place_) {
      nesting<Yielded>& place = *std::exchange(place_, nullptr);
      at(other_end_).other_end_ = address_of(place.parent_);
      error = std::addressof(place.error_);
    } else {
      other_end_ = error_in_root;
    }
    ::new (static_cast<void*>(error)) std::exception_ptr(std::current_exception());
  }
  /// Of a nested generator that has ended: an exception left its body.
  bool failed() const noexcept { return !place_; }

  /// Runs until the root shows its next element or has ended. Requires: `root` is a root, started and not ended.
  CORACLE_ALWAYS_INLINE() static void advance(handle root) {
    generator_state& state = root.promise();
    if (state.other_end_ == itself) [[likely]] {
      root.resume();
      if (state.other_end_ == itself) [[likely]]
        return;
      if (state.other_end_ == error_in_root) throw_error(state.take_error());
      show_leaf(state.other_end_);
    } else {
      advance_leaf(state.other_end_);
    }
  }
  /// Destroys the leaf first and the root last, so that depth costs no stack.
  CORACLE_ALWAYS_INLINE() static void destroy(std::coroutine_handle<> root, generator_state& state) noexcept {
    if (state.other_end_ > error_in_root) [[unlikely]]
      destroy_nested(state.other_end_);
    root.destroy();
  }

 private:
  // Of a root, who shows its element: its leaf, by address, or one of these.
  using address = std::uintptr_t;
  static constexpr address itself = 0;
  static constexpr address nobody = 2;         // before the start and behind the end
  static constexpr address error_in_root = 4;  // until advance() throws it
  static constexpr address waits = 1;  // a bit of the leaf's address: it shows nothing before it is resumed

#if CORACLE_TAIL_TRANSFER()
  static constexpr address unless_transferred = 0;
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() static std::coroutine_handle<> go_on_with(std::coroutine_handle<> next) noexcept {
    return next;
  }
#else
  static constexpr address unless_transferred = waits;
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() static void go_on_with(std::coroutine_handle<>) noexcept {}
#endif

  static address address_of(std::coroutine_handle<> frame) noexcept {
    return reinterpret_cast<address>(frame.address());
  }
  static handle handle_of(address frame) noexcept {
    return handle::from_address(reinterpret_cast<void*>(frame));
  }
  static generator_state& at(address frame) noexcept { return handle_of(frame).promise(); }

  // Inlined, or the root's address would stay in memory: see below.
  CORACLE_ALWAYS_INLINE() std::exception_ptr take_error() noexcept {
    other_end_ = nobody;
    std::exception_ptr error(std::move(error_));
    error_.~exception_ptr();
    return error;
  }
  [[noreturn]] CORACLE_COLD() static void throw_error(const std::exception_ptr error) { rethrow(error); }

  // These are not inlined, and get no root: its address would stay in memory, and with it the frame of a generator that the
  // compiler sees, though there is never a leaf.
  CORACLE_NOINLINE() static void advance_leaf(address leaf) {
    const address root = at(leaf).other_end_;
    handle_of(leaf).resume();
    show_leaf_or_throw(root);
  }
  /// `leaf_of_root` is what the root says of it; one that waits is resumed first.
  CORACLE_NOINLINE() static void show_leaf(address leaf_of_root) {
    if (leaf_of_root == nobody) return;
    const address leaf = leaf_of_root & ~waits;
    show_leaf_or_throw(at(leaf).place_ ? at(leaf).other_end_ : leaf);
  }
  CORACLE_ALWAYS_INLINE() static void show_leaf_or_throw(address root) {
    generator_state& state = at(root);
    while (CORACLE_MIXED_TRANSFER() && (state.other_end_ & waits)) {
      const address leaf = state.other_end_ - waits;
      state.other_end_ = leaf == root ? itself : leaf;
      handle_of(leaf).resume();
    }
    if (state.other_end_ > error_in_root) [[likely]] {
      state.show_that_of(at(state.other_end_));
    } else if (state.other_end_ == error_in_root) {
      throw_error(state.take_error());
    }
  }
  CORACLE_COLD() static void destroy_nested(address leaf) noexcept {
    while (nesting<Yielded>* const place = at(leaf).place_) {
      leaf = address_of(place->parent_);
      std::exchange(place->nested_, nullptr).destroy();
    }
  }

  union {
    nesting<Yielded>* place_;   // null in the root
    std::exception_ptr error_;  // of a root that failed
  };
  address other_end_ = nobody;  // in the root as said above, elsewhere the root
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
