// coracle/streams/ends.hpp -- the terminal operations: for_each, fold, collect.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/streams/detail/stage.hpp>
#include <coracle/streams/detail/stream_children.hpp>
#include <coracle/streams/stream.hpp>
#include <functional>
#include <vector>

namespace coracle::detail {
/// Passes every element to `sink`. Checks for a stop request between elements, because a source that never
/// waits does not.
template <class Stream, class Sink>
task<> drain_stream(Stream& stream, Sink& sink) {
  const stop_token& stop = co_await stop_around();
  for (;;) {
    if (stop.stop_requested()) [[unlikely]]
      CORACLE_END_AS_STOPPED(stop.reason());
    auto step = co_await stream.poll();
    if (step) {
      if constexpr (Sink::awaits) {
        co_await sink.accept(step.take());
      } else {
        sink.accept(step.take());
      }
    } else if (step.ended()) {
      co_return;
    }
  }
}
template <class Stream, class Sink>
task<> start_and_drain_stream(Stream& stream, Sink& sink, stream_children& children) {
  stream.start(children);
  co_await drain_stream(stream, sink);
}
template <class Stream, class Sink>
task<typename Sink::result_type> run_stream(Stream stream, Sink sink) {
  co_await counted_as_ready{};  // take(0) asks its source for nothing
  if constexpr (Stream::is_concurrent) {
    const environment& here =
        co_await read_environment([](const environment& e) -> const environment& { return e; });
    stream_children children{here};
    auto end = co_await detail::passing(start_and_drain_stream(stream, sink, children));
    co_await children.stop_and_join();
    static_cast<void>(Stream{std::move(stream)});  // its remains are destroyed before `children`
    co_await ends_unless_value(end);
    std::move(end).get();
  } else {
    co_await drain_stream(stream, sink);
  }
  co_return std::move(sink).result();
}

template <class Function, class E>
struct for_each_sink {
  using result_type = void;
  static constexpr bool awaits = awaitable<std::invoke_result_t<Function&, E>>;
  decltype(auto) accept(E&& element) { return std::invoke(function, static_cast<E&&>(element)); }
  void result() && noexcept {}

  Function function;
};
template <class T, class Function, class E>
struct fold_sink {
  using result_type = T;
  using folded = std::invoke_result_t<Function&, T, E>;
  static constexpr bool awaits = awaitable<folded>;

  void accept(E&& element)
    requires(!awaits)
  {
    value = std::invoke(function, std::move(value), static_cast<E&&>(element));
  }
  task<> accept(E&& element)
    requires awaits
  {
    value = co_await std::invoke(function, std::move(value), static_cast<E&&>(element));
  }
  T result() && { return std::move(value); }

  T value;
  Function function;
};
template <class E>
struct collect_sink {
  using result_type = std::vector<std::remove_cvref_t<E>>;
  static constexpr bool awaits = false;
  void accept(E&& element) { elements.push_back(own_element<E>(static_cast<E&&>(element))); }
  result_type result() && noexcept { return std::move(elements); }

  result_type elements;
};

template <class Function>
class for_each_pipe : public stream_pipe {
 public:
  explicit for_each_pipe(Function&& function) : function_(std::move(function)) {}
  template <class Source>
  CORACLE_CORO_WRAPPER()
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = std::is_invocable_v<Function&, E>;
    static_assert(fits, "for_each(f): f cannot be called with an element of the stream");
    if constexpr (fits) {
      return run_stream(std::move(source), for_each_sink<Function, E>{std::move(function_)});
    } else {
      return any_awaiter{};
    }
  }

 private:
  Function function_;
};
template <class T, class Function>
class fold_pipe : public stream_pipe {
 public:
  fold_pipe(T&& initial, Function&& function)
      : initial_(std::move(initial)), function_(std::move(function)) {}
  template <class Source>
  CORACLE_CORO_WRAPPER()
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = folds<Function, T, E>();
    static_assert(fits,
                  "fold(initial, f): f(value, element) cannot be called, or does not return the next value");
    if constexpr (fits) {
      return run_stream(std::move(source),
                        fold_sink<T, Function, E>{std::move(initial_), std::move(function_)});
    } else {
      return any_awaiter{};
    }
  }

 private:
  template <class F, class V, class E>
  static consteval bool folds() {
    if constexpr (std::is_invocable_v<F&, V, E>) {
      using folded = std::invoke_result_t<F&, V, E>;
      if constexpr (awaitable<folded>) {
        return std::is_assignable_v<V&, await_result_t<folded>>;
      } else {
        return std::is_assignable_v<V&, folded>;
      }
    } else {
      return false;
    }
  }
  T initial_;
  Function function_;
};
struct collect_pipe : stream_pipe {
  template <class Source>
  CORACLE_CORO_WRAPPER()
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = owns_element<E>;
    static_assert(fits,
                  "collect() of elements that can be neither copied nor moved: map() them to something else");
    if constexpr (fits) {
      return run_stream(std::move(source), collect_sink<E>{});
    } else {
      return any_awaiter{};
    }
  }
};
template <class S>
auto operator|(S&&, collect_pipe (&)() noexcept) {
  static_assert(never<S>, "collect is a function, which has to be called: source | collect()");
  return any_awaiter{};
}
}  // namespace coracle::detail

namespace coracle::streams {
/// `source | for_each(f)`: a task that calls f(element) for each element, and awaits the result of f if that
/// is awaitable, before it polls the next.
///
///     co_await (orders() | coracle::streams::for_each(ship));
///
/// This task, like those of fold and collect, owns the pipeline; on every way out it first stops and joins
/// what still runs in it.
/// Resumes on    where the source ended, or where f's task ended.
/// Cancellation  passed on to the source and to f, and checked between two elements. No element is taken from
///               a channel without being passed to f, unless a stage holds it: an unfinished chunk, half a
///               pair in zip, what buffered and merge have taken ahead.
/// Exceptions    those of the source, of the stages' functions and of f; the first ends the pipeline.
/// Cost          two frames per run, and none per element. The work of buffered and merge has its own frames.
template <class Function>
[[nodiscard("write source | for_each(f)")]] auto for_each(Function function) {
  return detail::for_each_pipe<Function>(std::move(function));
}
/// `source | fold(initial, f)`: a task of f(f(f(initial, first), second), ...). f may return a task.
///
///     const int sum = co_await (numbers() | coracle::streams::fold(0, std::plus{}));
template <class T, class Function>
[[nodiscard("write source | fold(initial, f)")]] auto fold(T initial, Function function) {
  return detail::fold_pipe<T, Function>(std::move(initial), std::move(function));
}
/// `source | collect()`: a task of a std::vector of all elements. Elements passed by reference are copied, or
/// moved if not copyable.
[[nodiscard("write source | collect()")]] inline auto collect() noexcept { return detail::collect_pipe{}; }
}  // namespace coracle::streams
