// coracle/streams/stream.hpp -- sequences whose elements are awaited, and the `|` that joins their stages.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/task.hpp>
#include <optional>
#include <type_traits>
#include <utility>

// A pipeline is one object, made of its source and its stages, each of which owns the one before. A stage has
//
//   element_type     what it gives: an object, or a reference that holds until the next poll()
//   poll()           an awaitable of stream_step<element_type>: an element, the end, or neither: ask again
//   is_concurrent    whether something in it runs between two polls
//   start(children)  begins that; called once, if is_concurrent, when the stage has come to rest
//
// `Neither` is what filter answers for an element that it drops. So no stage has to loop, and map, filter,
// take and chunk are plain objects in the frame of the one coroutine that polls the whole pipeline. After the
// end nobody polls.
namespace coracle::detail {
template <class E>
class stream_step {
  using held = std::conditional_t<std::is_reference_v<E>, std::add_pointer_t<E>, std::optional<E>>;

 public:
  explicit stream_step(E&& element) noexcept(std::is_reference_v<E> ||
                                             std::is_nothrow_move_constructible_v<E>)
      : held_(hold(element)) {}
  [[nodiscard]] static stream_step nothing(bool ended) noexcept { return stream_step(ended, 0); }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(held_); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Requires of both: there is an element.
  [[nodiscard]] const std::remove_reference_t<E>& show() const noexcept { return *held_; }
  [[nodiscard]] E&& take() noexcept { return static_cast<E&&>(*held_); }

 private:
  stream_step(bool ended, int) noexcept : held_(), ended_(ended) {}
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

/// An element of one's own: moved where it is given away, or cannot be copied.
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

/// Base of an awaiter that does something with what `Awaitable` gives: await_resume() is left to write.
template <class Awaitable>
class awaits_inside {
 public:
  template <class Make>
  CORACLE_ALWAYS_INLINE()
  explicit awaits_inside(Make make) : inside_(make) {}
  awaits_inside(const awaits_inside&) = delete;
  awaits_inside& operator=(const awaits_inside&) = delete;

  CORACLE_ALWAYS_INLINE() bool await_ready() { return inside_.awaiter().await_ready() ? true : false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() auto await_suspend(std::coroutine_handle<Promise> suspended) {
    return inside_.awaiter().await_suspend(suspended);
  }

 protected:
  CORACLE_ALWAYS_INLINE() decltype(auto) result() { return inside_.awaiter().await_resume(); }

 private:
  with_awaiter<Awaitable> inside_;
};

// ---- sources -------------------------------------------------------------------------------------------

template <class T>
concept optional_like = requires(T& found) {
  found ? 1 : 0;
  *found;
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
// What a pointer shows stays where it is; what an optional holds is moved out.
template <class Found>
using found_element =
    std::conditional_t<std::is_pointer_v<Found>, std::add_lvalue_reference_t<std::remove_pointer_t<Found>>,
                       std::remove_cvref_t<decltype(*std::declval<Found&>())>>;

/// The beginning of a pipeline. `Source` is a reference where it cannot be moved.
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
      if (!found) return stream_step<element_type>::nothing(true);
      return stream_step<element_type>(static_cast<element_type&&>(*found));
    }
  };
  CORACLE_ALWAYS_INLINE() poll_operation poll() { return poll_operation(source_); }

 private:
  Source source_;
};

// ---- the pipe ------------------------------------------------------------------------------------------

/// Base of what stands on the right of a `|`: has apply(stage), which gives a stage, or an awaitable at the
/// end.
struct stream_pipe {};

template <class S>
inline constexpr bool is_stream = stream_stage<S> || has_next<S> || has_recv<S>;

/// What a pipeline owns of `source`: itself, moved in; a reference to what cannot be moved, such as a
/// channel.
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
/// Whether as_stream() takes an `S`; says why not. False without a word: a message is there already.
template <class S>
constexpr bool check_stream() {
  using object = std::remove_cvref_t<S>;
  constexpr bool moves = std::is_move_constructible_v<object>;
  if constexpr (std::is_same_v<object, any_awaiter>) {
    return false;
  } else if constexpr (!is_stream<object>) {
    static_assert(
        is_stream<object>,
        "a pipeline begins with a stream: an async_generator, a channel, or another object whose next() or "
        "recv() is an awaitable of something optional-like; and stands in parentheses behind co_await");
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
    return std::remove_cvref_t<Pipe>(static_cast<Pipe&&>(pipe)).apply(as_stream(static_cast<S&&>(source)));
  } else {
    return any_awaiter{};
  }
}
}  // namespace coracle::detail

namespace coracle::streams {
/// Streams: pipelines over everything that gives elements one by one to whoever awaits them. A stage pulls
/// from the one before when it is pulled from, so a slow consumer slows its source down, and nothing is
/// computed that nobody asked for (buffered and merge alone run ahead, by as much as they say).
///
///     namespace streams = coracle::streams;
///     auto long_lines = read_lines(file) | streams::filter(is_long) | streams::take(10);
///     co_await (std::move(long_lines) | streams::for_each(print));
///
/// Sources: an async_generator, whose elements are seen where they stand; a channel or a
/// broadcast_subscription, whose elements are moved out; whatever has a next() or recv() that is an awaitable
/// of something optional-like. A pipeline owns what it is made of; only what cannot be moved, a channel, is
/// referred to and outlives it. A stage's function is called by whoever polls the stage, one call at a time.
template <class S>
concept stream = detail::is_stream<std::remove_cvref_t<S>>;
}  // namespace coracle::streams
