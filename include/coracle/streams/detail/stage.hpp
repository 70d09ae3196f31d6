// coracle/streams/detail/stage.hpp -- what every stage of a pipeline is made of.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/reports_end.hpp>
#include <coracle/core/task.hpp>
#include <optional>
#include <type_traits>
#include <utility>

// A pipeline is one object that consists of its source and stages, each of which owns the one before: in
// `numbers() | map(f) | take(3)`, the stage of take contains that of map, which contains the generator. Each
// stage has
//
//   element_type     an object, or a reference that is valid until the next poll()
//   poll()           an awaitable of stream_step<element_type>
//   is_concurrent    true if something in it runs between two polls
//   start(children)  starts that; called once, if is_concurrent, when the stage no longer moves
//
// The terminal operation is the one coroutine: it polls the last stage, which polls the stage before it
// within the same await, up to the source. filter answers "poll again" for an element that it drops, so no
// stage has to loop, and map, filter, take and chunk are plain objects in that coroutine's frame. Nobody
// polls after the end.
//
// What loops over poll() checks for a stop request in between, because a source that never waits does not.
namespace coracle::detail {
/// The answer to a poll(): an element; the end; or neither, and the consumer polls again.
template <class E>
class stream_step {
  using held = std::conditional_t<std::is_reference_v<E>, std::add_pointer_t<E>, std::optional<E>>;

 public:
  explicit stream_step(E&& element) noexcept(std::is_reference_v<E> ||
                                             std::is_nothrow_move_constructible_v<E>)
      : held_(hold(element)) {}
  [[nodiscard]] static stream_step end() noexcept { return stream_step(without_element::ended); }
  [[nodiscard]] static stream_step again() noexcept { return stream_step(without_element::goes_on); }
  /// The end if `other` is, else again().
  template <class Other>
  [[nodiscard]] static stream_step as(const stream_step<Other>& other) noexcept {
    return other.ended() ? end() : again();
  }

  /// Returns true if there is an element.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(held_); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Both require an element.
  [[nodiscard]] const std::remove_reference_t<E>& peek() const noexcept { return *held_; }
  [[nodiscard]] E&& take() noexcept { return static_cast<E&&>(*held_); }

 private:
  enum class without_element : bool { goes_on, ended };
  explicit stream_step(without_element is) noexcept : held_(), ended_(is == without_element::ended) {}
  static held hold(std::remove_reference_t<E>& element) {
    if constexpr (std::is_reference_v<E>) {
      return __builtin_addressof(element);
    } else {
      return held(std::move(element));
    }
  }
  held held_;
  bool ended_ = false;
};

template <class E>
inline constexpr bool owns_element =
    std::is_constructible_v<std::remove_cvref_t<E>, E> ||
    std::is_constructible_v<std::remove_cvref_t<E>, std::remove_reference_t<E>>;
/// An owned element: moved if it is passed on or not copyable, otherwise copied.
template <class E>
std::remove_cvref_t<E> own_element(E&& element) {
  if constexpr (std::is_constructible_v<std::remove_cvref_t<E>, E>) {
    return static_cast<E&&>(element);
  } else {
    return std::move(element);
  }
}

/// An awaitable and its awaiter, which may be the same object.
template <class Awaitable>
class with_awaiter {
 public:
  template <class Make>
  explicit with_awaiter(Make make)
      : value_(make()), awaiter_(get_awaiter(static_cast<Awaitable&&>(value_))) {}
  awaiter_type_t<Awaitable>& awaiter() noexcept { return awaiter_; }

 private:
  Awaitable value_;
  awaiter_type_t<Awaitable> awaiter_;
};
template <class Awaitable>
  requires std::is_reference_v<awaiter_type_t<Awaitable>>
class with_awaiter<Awaitable> {
 public:
  template <class Make>
  CORACLE_ALWAYS_INLINE()
  explicit with_awaiter(Make make) : value_(make()) {}
  CORACLE_ALWAYS_INLINE() Awaitable& awaiter() noexcept { return value_; }

 private:
  Awaitable value_;
};

/// Base of an awaiter that transforms the result of `Awaitable`: the derived class defines await_resume(),
/// which begins with result().
template <class Awaitable>
class awaits_inside {
  using awaiter = std::remove_reference_t<awaiter_type_t<Awaitable>>;

 public:
  template <class Make>
  CORACLE_ALWAYS_INLINE()
  explicit awaits_inside(Make make) : inside_(make) {}
  awaits_inside(const awaits_inside&) = delete;
  awaits_inside& operator=(const awaits_inside&) = delete;

  CORACLE_ALWAYS_INLINE() bool await_ready() { return inside_.awaiter().await_ready() ? true : false; }
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  auto await_suspend(std::coroutine_handle<Promise> suspended) {
    return inside_.awaiter().await_suspend(suspended);
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept
    requires reports_cancellation<awaiter>
  {
    return inside_.awaiter().await_cancelled();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept
    requires reports_failure<awaiter>
  {
    return failure_of(inside_.awaiter(), internal_call());
  }

 protected:
  CORACLE_ALWAYS_INLINE() decltype(auto) result() { return inside_.awaiter().await_resume(); }

 private:
  with_awaiter<Awaitable> inside_;
};

// ---- sources -------------------------------------------------------------------------------------------

// Without expected, whose error would end the pipeline as if the source had ended.
template <class T>
concept optional_like = requires(T& found) {
  found ? 1 : 0;
  *found;
  requires !requires { found.error(); };
};
template <class S>
concept has_next = requires(S& source) {
  { source.next() } -> awaitable;
  requires optional_like<std::remove_reference_t<await_result_t<decltype(source.next())>>>;
};
template <class S>
concept has_recv = requires(S& source) {
  { source.recv() } -> awaitable;
  requires optional_like<std::remove_reference_t<await_result_t<decltype(source.recv())>>>;
};
template <class S>
concept stream_stage = requires(S& stage) {
  typename S::element_type;
  { stage.poll() } -> awaitable;
};

template <class S>
CORACLE_ALWAYS_INLINE()
auto pull(S& source) {
  if constexpr (has_next<S>) {
    return source.next();
  } else {
    return source.recv();
  }
}
// The target of a pointer stays in place. The value of an optional is moved out; that of a std::shared_ptr is
// copied, because others may share it.
template <class Found>
using found_element =
    std::conditional_t<std::is_pointer_v<Found>, std::add_lvalue_reference_t<std::remove_pointer_t<Found>>,
                       std::remove_cvref_t<decltype(*std::declval<Found&>())>>;

/// The beginning of a pipeline. `Source` is a reference if it cannot be moved.
template <class Source>
class stream_source {
  using pulled = decltype(pull(std::declval<Source&>()));

 public:
  using element_type = found_element<std::remove_cvref_t<await_result_t<pulled>>>;
  static constexpr bool is_concurrent = false;

  explicit stream_source(Source&& source) : source_(static_cast<Source&&>(source)) {}

  class poll_operation : public awaits_inside<pulled> {
   public:
    explicit poll_operation(Source& source) : awaits_inside<pulled>([&source] { return pull(source); }) {}
    CORACLE_ALWAYS_INLINE() stream_step<element_type> await_resume() {
      auto&& found = this->result();
      if (!found) return stream_step<element_type>::end();
      using shown = decltype(*static_cast<decltype(found)&&>(found));
      if constexpr (std::is_same_v<shown, element_type&&>) {
        return stream_step<element_type>(*static_cast<decltype(found)&&>(found));
      } else {
        return stream_step<element_type>(own_element<shown>(*found));
      }
    }
  };
  CORACLE_ALWAYS_INLINE() poll_operation poll() { return poll_operation(source_); }

 private:
  Source source_;
};

// ---- the pipe ------------------------------------------------------------------------------------------

/// Base of the right operand of `|`: has apply(stage), which returns a stage or, at the end, an awaitable.
struct stream_pipe {};

template <class S>
inline constexpr bool is_stream = stream_stage<S> || has_next<S> || has_recv<S>;

/// How a pipeline holds `source`: moved in, or a reference if it cannot be moved, like a channel.
template <class S>
auto as_stream(S&& source) {
  using object = std::remove_reference_t<S>;
  if constexpr (!std::is_lvalue_reference_v<S> && stream_stage<object>) {
    return object(static_cast<S&&>(source));
  } else if constexpr (!std::is_lvalue_reference_v<S>) {
    return stream_source<object>(static_cast<S&&>(source));
  } else {
    return stream_source<S>(source);
  }
}
/// True if as_stream() accepts an `S`; otherwise says why not, unless there is already a message.
template <class S>
consteval bool check_stream() {
  using object = std::remove_cvref_t<S>;
  constexpr bool moves = std::is_move_constructible_v<object>;
  if constexpr (std::is_same_v<object, any_awaiter>) {
    return false;
  } else if constexpr (!is_stream<object>) {
    static_assert(
        is_stream<object>,
        "a pipeline begins with a stream: an async_generator, a channel, or another object whose next() or "
        "recv() is an awaitable of something optional-like, not an expected, whose error would be lost; put "
        "it in parentheses after co_await");
    return false;
  } else if constexpr (std::is_lvalue_reference_v<S> && moves) {
    static_assert(
        !std::is_lvalue_reference_v<S>,
        "a pipeline owns its source: write std::move(source) | ..., or begin with the call that makes it");
    return false;
  } else {
    static_assert(
        std::is_lvalue_reference_v<S> || moves,
        "this source cannot be moved into the pipeline: give it a name, and let it outlive the pipeline");
    return std::is_lvalue_reference_v<S> || moves;
  }
}

template <class S, class Pipe>
  requires std::derived_from<std::remove_cvref_t<Pipe>, stream_pipe>
auto operator|(S&& source, Pipe&& pipe) {
  if constexpr (check_stream<S>()) {
    return std::remove_cvref_t<Pipe>(static_cast<Pipe&&>(pipe))
        .apply(detail::as_stream(static_cast<S&&>(source)));
  } else {
    return any_awaiter{};
  }
}

// For a range-for over a pipeline.
template <class S>
  requires stream_stage<std::remove_cvref_t<S>>
not_awaited begin(S&&) = delete;  // a range-for awaits nothing: co_await (source | for_each(f))
template <class S>
  requires stream_stage<std::remove_cvref_t<S>>
not_awaited end(S&&);
}  // namespace coracle::detail
