// coracle/streams/stages.hpp -- the stages that need no coroutine: map, filter, take, chunk.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/streams/detail/stage.hpp>
#include <coracle/streams/stream.hpp>
#include <cstddef>
#include <functional>
#include <vector>

namespace coracle::detail {
/// A stage that passes each step of its source through its `Change`, which has
///
///     element_type
///     stream_step<element_type> pass(stream_step<E>&& from)
///     bool finished()    // returns true if the stage has ended: it no longer polls its source
template <class Source, class Change>
class [[nodiscard("a stream does nothing until it ends in for_each, fold or collect, and that is awaited")]]
changed_stream {
  using polled = decltype(std::declval<Source&>().poll());

 public:
  using element_type = typename Change::element_type;
  static constexpr bool is_concurrent = Source::is_concurrent;

  changed_stream(Source&& source, Change&& change) : source_(std::move(source)), change_(std::move(change)) {}

  class poll_operation : public awaits_inside<polled> {
   public:
    CORACLE_ALWAYS_INLINE()
    explicit poll_operation(changed_stream& stage)
        : awaits_inside<polled>([&stage] { return stage.source_.poll(); }), change_(stage.change_) {}
    CORACLE_ALWAYS_INLINE() bool await_ready() {
      return change_.finished() || awaits_inside<polled>::await_ready();
    }
    CORACLE_ALWAYS_INLINE() stream_step<element_type> await_resume() {
      if (change_.finished()) return stream_step<element_type>::end();
      return change_.pass(this->result());
    }
    [[nodiscard]] stop_reason await_cancelled() noexcept
      requires reports_cancellation<awaits_inside<polled>>
    {
      return change_.finished() ? stop_reason::none : awaits_inside<polled>::await_cancelled();
    }
    [[nodiscard]] std::exception_ptr await_failure() noexcept
      requires reports_failure<awaits_inside<polled>>
    {
      return change_.finished() ? nullptr : awaits_inside<polled>::await_failure();
    }

   private:
    Change& change_;
  };
  CORACLE_ALWAYS_INLINE() poll_operation poll() { return poll_operation(*this); }
  template <class Children>
  void start(Children& children) {
    source_.start(children);
  }

 private:
  Source source_;
  [[no_unique_address]] Change change_;
};

// An rvalue reference is not an element: it would dangle. The object is.
template <class R>
using kept_result = std::conditional_t<std::is_lvalue_reference_v<R>, R, std::remove_cvref_t<R>>;

template <class Function, class E>
class map_change {
 public:
  using element_type = kept_result<std::invoke_result_t<Function&, E>>;
  explicit map_change(Function&& function) : function_(std::move(function)) {}
  static constexpr bool finished() noexcept { return false; }
  CORACLE_ALWAYS_INLINE() stream_step<element_type> pass(stream_step<E>&& from) {
    if (!from) return stream_step<element_type>::as(from);
    return stream_step<element_type>(std::invoke(function_, from.take()));
  }

 private:
  [[no_unique_address]] Function function_;
};

template <class Predicate, class E>
class filter_change {
 public:
  using element_type = E;
  explicit filter_change(Predicate&& predicate) : predicate_(std::move(predicate)) {}
  static constexpr bool finished() noexcept { return false; }
  CORACLE_ALWAYS_INLINE() stream_step<E> pass(stream_step<E>&& from) {
    if (!from || std::invoke(predicate_, from.peek())) return std::move(from);
    return stream_step<E>::again();
  }

 private:
  [[no_unique_address]] Predicate predicate_;
};

template <class E>
class take_change {
 public:
  using element_type = E;
  static constexpr bool keeps_elements = false;
  explicit take_change(std::size_t most) noexcept : left_(most) {}
  bool finished() const noexcept { return left_ == 0; }
  CORACLE_ALWAYS_INLINE() stream_step<E> pass(stream_step<E>&& from) {
    if (from) --left_;
    return std::move(from);
  }

 private:
  std::size_t left_;
};

template <class E>
class chunk_change {
 public:
  using element_type = std::vector<std::remove_cvref_t<E>>;
  static constexpr bool keeps_elements = true;
  explicit chunk_change(std::size_t size) noexcept : size_(size) {}
  bool finished() const noexcept { return finished_; }
  stream_step<element_type> pass(stream_step<E>&& from) {
    if (from) chunk_.push_back(own_element<E>(from.take()));
    finished_ = from.ended();
    if (chunk_.size() == size_ || (finished_ && !chunk_.empty())) {
      return stream_step<element_type>(detail::exchange(chunk_, {}));
    }
    return stream_step<element_type>::as(from);
  }

 private:
  std::size_t size_;
  element_type chunk_;
  bool finished_ = false;
};

template <class Change, class Source, class... Args>
auto change_stream(Source&& source, Args&&... args) {
  return changed_stream<Source, Change>(std::move(source), Change(static_cast<Args&&>(args)...));
}

template <class Function>
class map_pipe : public stream_pipe {
 public:
  explicit map_pipe(Function&& function) : function_(std::move(function)) {}
  template <class Source>
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = std::is_invocable_v<Function&, E>;
    static_assert(fits, "map(f): f cannot be called with an element of the stream");
    if constexpr (fits) {
      constexpr bool gives = !std::is_void_v<std::invoke_result_t<Function&, E>>;
      static_assert(gives, "map(f): f returns nothing; for its side effects end the pipeline in for_each(f)");
      if constexpr (gives) {
        return change_stream<map_change<Function, E>>(std::move(source), std::move(function_));
      } else {
        return any_awaiter{};
      }
    } else {
      return any_awaiter{};
    }
  }

 private:
  Function function_;
};
template <class Predicate>
class filter_pipe : public stream_pipe {
 public:
  explicit filter_pipe(Predicate&& predicate) : predicate_(std::move(predicate)) {}
  template <class Source>
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = std::is_invocable_r_v<bool, Predicate&, const std::remove_reference_t<E>&>;
    static_assert(
        fits, "filter(f): f cannot be called with a const element of the stream, or does not return a bool");
    if constexpr (fits) {
      return change_stream<filter_change<Predicate, E>>(std::move(source), std::move(predicate_));
    } else {
      return any_awaiter{};
    }
  }

 private:
  Predicate predicate_;
};
/// The pipe of take and chunk.
template <template <class> class Change>
class count_pipe : public stream_pipe {
 public:
  explicit count_pipe(std::size_t count) noexcept : count_(count) {}
  template <class Source>
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = !Change<E>::keeps_elements || owns_element<E>;
    static_assert(fits,
                  "chunk() of elements that can be neither copied nor moved: map() them to something else");
    if constexpr (fits) {
      return change_stream<Change<E>>(std::move(source), count_);
    } else {
      return any_awaiter{};
    }
  }

 private:
  std::size_t count_;
};
}  // namespace coracle::detail

namespace coracle::streams {
/// `source | map(f)`: f(element) for each element. If f returns a task, the tasks are the elements;
/// `| buffered(n)` awaits them.
///
///     auto pages = urls() | coracle::streams::map(fetch) | coracle::streams::buffered(8);
///
/// No stage of this header needs a coroutine or allocates (except chunk, its vectors). An exception that
/// leaves a function ends the pipeline and propagates from its terminal operation.
template <class Function>
[[nodiscard("write source | map(f)")]] auto map(Function function) {
  return detail::map_pipe<Function>(std::move(function));
}
/// `source | filter(f)`: the elements for which f(const element&) returns true.
template <class Predicate>
[[nodiscard("write source | filter(f)")]] auto filter(Predicate predicate) {
  return detail::filter_pipe<Predicate>(std::move(predicate));
}
/// `source | take(n)`: the first n elements; the source is not polled for more.
[[nodiscard("write source | take(n)")]] inline auto take(std::size_t most) noexcept {
  return detail::count_pipe<detail::take_change>(most);
}
/// `source | chunk(n)`: std::vectors of n elements; the last one may be shorter. Elements passed by reference
/// are copied, or moved if not copyable. Requires: n is not 0.
[[nodiscard("write source | chunk(n)")]] inline auto chunk(std::size_t size) noexcept {
  CORACLE_REQUIRE(size != 0, "chunk(0): a chunk has at least one element");
  return detail::count_pipe<detail::chunk_change>(size);
}
}  // namespace coracle::streams
