// coracle/streams/time.hpp -- the stages that depend on time: throttle, timeout_each.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/streams/detail/stage.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>

namespace coracle::detail {
template <class Source>
class [[nodiscard("a stream does nothing until it ends in for_each, fold or collect, and that is awaited")]]
throttled_stream {
 public:
  using element_type = typename Source::element_type;
  static constexpr bool is_concurrent = Source::is_concurrent;

  throttled_stream(Source&& source, std::chrono::steady_clock::duration interval)
      : source_(std::move(source)), interval_(interval) {}

  template <class Children>
  void start(Children& children) {
    source_.start(children);
  }
  task<stream_step<element_type>> poll() {
    co_await sleep_until(next_);
    auto step = co_await source_.poll();
    if (step) next_ = later_by(steady_now(), interval_);
    co_return std::move(step);
  }

 private:
  Source source_;
  std::chrono::steady_clock::duration interval_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::time_point::min();
};

template <class Source>
class [[nodiscard("a stream does nothing until it ends in for_each, fold or collect, and that is awaited")]]
limited_stream {
 public:
  using element_type = typename Source::element_type;
  static constexpr bool is_concurrent = Source::is_concurrent;

  limited_stream(Source&& source, std::chrono::steady_clock::duration limit)
      : source_(std::move(source)), limit_(limit) {}

  template <class Children>
  void start(Children& children) {
    source_.start(children);
  }
  CORACLE_CORO_WRAPPER() auto poll() { return coracle::timeout(next(source_), limit_); }

 private:
  static task<stream_step<element_type>> next(Source& source) {
    const stop_token& stop = co_await stop_around();
    for (;;) {
      auto step = co_await source.poll();
      if (step || step.ended()) co_return std::move(step);
      if (stop.stop_requested()) CORACLE_END_AS_STOPPED(stop.reason());
    }
  }
  Source source_;
  std::chrono::steady_clock::duration limit_;
};

/// The pipe of throttle and timeout_each.
template <template <class> class Stage>
class duration_pipe : public stream_pipe {
 public:
  explicit duration_pipe(std::chrono::steady_clock::duration given) noexcept : given_(given) {}
  template <class Source>
  auto apply(Source&& source) {
    return Stage<Source>(std::move(source), given_);
  }

 private:
  std::chrono::steady_clock::duration given_;
};
}  // namespace coracle::detail

namespace coracle::streams {
/// `source | throttle(interval)`: at most one element per interval. After an element has come, the source is
/// not polled for the next one until the interval has passed; no element is dropped.
///
///     co_await (orders() | coracle::streams::throttle(100ms) | coracle::streams::for_each(send));
///
/// Both stages use the clock of the executor on which the pipeline runs.
/// Cancellation  ends the sleep immediately.
/// Cost          a frame and a timer per element.
template <class Rep, class Period>
[[nodiscard("write source | throttle(interval)")]] auto throttle(
    std::chrono::duration<Rep, Period> interval) noexcept {
  return detail::duration_pipe<detail::throttled_stream>(detail::clock_duration(interval));
}
template <class T>
  requires(!detail::is_delay<T>)
auto throttle(const T&) noexcept {
  static_assert(detail::never<T>, "throttle needs a duration, which has a unit, such as 10ms");
  return detail::any_awaiter{};
}
/// `source | timeout_each(limit)`: throws timed_out, which ends the pipeline, if an element does not arrive
/// within `limit` of being polled; the time that the consumer takes does not count. coracle::timeout() around
/// a pipeline limits the whole.
///
///     co_await (replies | coracle::streams::timeout_each(1s) | coracle::streams::for_each(show));
///
/// Cancellation  the source gets a stop request at the time limit, and is joined; an element that it still
///               produces is passed on.
/// Cost          two frames, a stop source and a timer per element.
template <class Rep, class Period>
[[nodiscard("write source | timeout_each(limit)")]] auto timeout_each(
    std::chrono::duration<Rep, Period> limit) noexcept {
  return detail::duration_pipe<detail::limited_stream>(detail::clock_duration(limit));
}
template <class T>
  requires(!detail::is_delay<T>)
auto timeout_each(const T&) noexcept {
  static_assert(detail::never<T>, "timeout_each needs a duration, which has a unit, such as 10ms");
  return detail::any_awaiter{};
}
}  // namespace coracle::streams
