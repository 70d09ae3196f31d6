// coracle/compose/via.hpp -- choose where an awaitable runs, and where its parent continues.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/invoke.hpp>
#include <coracle/core/result.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>

namespace coracle {
namespace detail {
// The scheduler parameter is a reference where the caller passed an lvalue, otherwise a value.
template <class Awaitable, class Scheduler>
task<kept_result_t<Awaitable>> run_on(Awaitable value, Scheduler place) {
  co_await place.schedule();
  co_return co_await static_cast<Awaitable&&>(value);
}
// A frame below the one that hops: a stop request may end it, and an exception of moving `value` stays in it.
template <class Awaitable>
task<kept_result_t<Awaitable>> await_here(Awaitable&& value) {
  co_return co_await static_cast<Awaitable&&>(value);
}
template <class Awaitable, class Scheduler>
task<kept_result_t<Awaitable>> await_on(Awaitable&& value, Scheduler& place) {
  co_await place.schedule();
  co_return co_await static_cast<Awaitable&&>(value);
}
template <class Awaitable, class Scheduler>
task<kept_result_t<Awaitable>> end_on(Awaitable value, Scheduler place) {
  auto end = co_await detail::passing(detail::await_here<Awaitable>(static_cast<Awaitable&&>(value)));
  co_await out_of_reach();
  co_await place.schedule();
  co_await ends_unless_value(end);
  co_return std::move(end).get();
}
template <class Awaitable, class Scheduler>
task<kept_result_t<Awaitable>> visit(Awaitable value, Scheduler place) {
  const scheduler_ref home = current_scheduler();
  auto end = co_await detail::passing(detail::await_on<Awaitable>(static_cast<Awaitable&&>(value), place));
  co_await out_of_reach();
  co_await home.schedule();
  co_await ends_unless_value(end);
  co_return std::move(end).get();
}
}  // namespace detail

/// Runs `value` on `place`; the awaiting coroutine continues where `value` ended, so usually on `place`.
///
///     int sum = co_await coracle::schedule_on(add_up(numbers), pool);
///
/// What is passed as an lvalue, the awaitable or the scheduler, is kept by reference and must outlive the
/// await. All functions of this header also take a function that returns an awaitable, and keep it until the
/// awaitable has ended; here it is called on `place`.
/// Resumes on    where `value` ended.
/// Cancellation  as `place.schedule()`, and then as `value`, which inherits the environment.
/// Exceptions    those of `value` and of `place.schedule()`.
/// Cost          one frame.
template <detail::work Work, class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
CORACLE_CORO_WRAPPER()
auto schedule_on(Work&& value, Scheduler&& place) {
  return detail::run_on<detail::work_t<Work>, Scheduler>(detail::as_awaitable(static_cast<Work&&>(value)),
                                                         static_cast<Scheduler&&>(place));
}

/// Runs `value` where the awaiting coroutine is, which then continues on `place`, even after an exception.
///
///     std::string body = co_await coracle::resume_on(download(url), pool);
///
/// Resumes on    `place`.
/// Cancellation  `value` inherits the environment; the hop to `place` happens in any case, and a finished
///               result is delivered.
/// Exceptions    those of `value`, thrown on `place`.
/// Cost          two frames.
template <detail::work Work, class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
CORACLE_CORO_WRAPPER()
auto resume_on(Work&& value, Scheduler&& place) {
  return detail::end_on<detail::work_t<Work>, Scheduler>(detail::as_awaitable(static_cast<Work&&>(value)),
                                                         static_cast<Scheduler&&>(place));
}

/// Runs `value` on `place` and returns: the awaiting coroutine continues where it was.
///
///     int checksum = co_await coracle::via(crc(block), pool);  // this line and the next: same scheduler
///
/// Resumes on    the executor of the awaiting coroutine; without one, where `value` ended.
/// Cancellation  as schedule_on(); the hop back happens in any case, and a finished result is delivered.
/// Exceptions    those of `value` and of `place.schedule()`, thrown after the hop back.
/// Cost          two frames, and a hop each way.
template <detail::work Work, class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
CORACLE_CORO_WRAPPER()
auto via(Work&& value, Scheduler&& place) {
  return detail::visit<detail::work_t<Work>, Scheduler>(detail::as_awaitable(static_cast<Work&&>(value)),
                                                        static_cast<Scheduler&&>(place));
}

namespace detail {
enum class hop { schedule_on, resume_on, via };

/// What `schedule_on(place)`, `resume_on(place)` and `via(place)` return: the right operand of `|`.
template <hop Kind, class Scheduler>
class [[nodiscard("write value | schedule_on(place), or | resume_on(place), or | via(place)")]]
hop_transform {
 public:
  static constexpr hop kind = Kind;
  explicit hop_transform(Scheduler&& given) : place(static_cast<Scheduler&&>(given)) {}
  Scheduler place;
};

// The functions are called unqualified, so that argument-dependent lookup finds those that other types
// provide.
template <class T, class Hop>
  requires std::is_same_v<const hop, decltype(std::remove_cvref_t<Hop>::kind)>
CORACLE_CORO_WRAPPER()
auto operator|(T&& value, Hop&& to) {
  constexpr hop kind = std::remove_cvref_t<Hop>::kind;
  if constexpr (kind == hop::schedule_on) {
    return schedule_on(static_cast<T&&>(value), static_cast<Hop&&>(to).place);
  } else if constexpr (kind == hop::resume_on) {
    return resume_on(static_cast<T&&>(value), static_cast<Hop&&>(to).place);
  } else {
    return via(static_cast<T&&>(value), static_cast<Hop&&>(to).place);
  }
}
}  // namespace detail

/// For `value | schedule_on(place)`, which is schedule_on(value, place).
///
///     int sum = co_await (add_up(numbers) | coracle::schedule_on(pool));
///
/// A named adaptor uses the scheduler that was moved into it in place, so it must outlive the await.
template <class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
auto schedule_on(Scheduler&& place) {
  return detail::hop_transform<detail::hop::schedule_on, Scheduler>{static_cast<Scheduler&&>(place)};
}
/// For `value | resume_on(place)`, which is resume_on(value, place).
template <class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
auto resume_on(Scheduler&& place) {
  return detail::hop_transform<detail::hop::resume_on, Scheduler>{static_cast<Scheduler&&>(place)};
}
/// For `value | via(place)`, which is via(value, place).
template <class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
auto via(Scheduler&& place) {
  return detail::hop_transform<detail::hop::via, Scheduler>{static_cast<Scheduler&&>(place)};
}

namespace detail {
template <class Scheduler, class T>
async_generator<T> elements_from(async_generator<T> source, Scheduler place) {
  co_await place.schedule();
  auto* element = co_await source.next();
  while (element) {
    co_yield static_cast<shown_by_async<T>>(*element);
    co_await place.schedule();
    element = co_await source.next();
  }
}
template <class Scheduler, class T>
async_generator<T> elements_to(async_generator<T> source, Scheduler place) {
  for (;;) {
    outcome<std::add_pointer_t<T>> next;
    CORACLE_TRY() { next.emplace(co_await source.next()); }
    CORACLE_CATCH_ALL() { next.emplace_current_exception(); }
    co_await out_of_reach();
    co_await place.schedule();
    auto* const element = std::move(next).get();
    if (!element) co_return;
    co_yield static_cast<shown_by_async<T>>(*element);
  }
}
template <class Scheduler, class T>
async_generator<T> elements_by_way_of(async_generator<T> source, Scheduler place) {
  for (;;) {
    const scheduler_ref home = current_scheduler();
    outcome<std::add_pointer_t<T>> next;
    CORACLE_TRY() {
      co_await place.schedule();
      next.emplace(co_await source.next());
    }
    CORACLE_CATCH_ALL() { next.emplace_current_exception(); }
    co_await out_of_reach();
    co_await home.schedule();
    auto* const element = std::move(next).get();
    if (!element) co_return;
    co_yield static_cast<shown_by_async<T>>(*element);
  }
}
}  // namespace detail

/// Computes every element on `place`, wherever the previous one was consumed. A scheduler that is passed as
/// an lvalue must outlive the generator.
///
///     auto lines = coracle::schedule_on(read_lines(path), pool);
///
/// Resumes on  the consumer where the element was computed: `place`, unless `source` moves.
/// Exceptions  those of `source`.
/// Cost        a frame, and a hop for each element.
template <class T, class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
CORACLE_CORO_WRAPPER()
async_generator<T> schedule_on(async_generator<T> source, Scheduler&& place) {
  return detail::elements_from<Scheduler>(std::move(source), static_cast<Scheduler&&>(place));
}
/// Delivers every element, the end and an exception on `place`, wherever they came from. A scheduler
/// that is passed as an lvalue must outlive the generator.
///
///     auto lines = coracle::resume_on(receive_lines(socket), pool);
///
/// Resumes on  the consumer on `place`; `source` where it was awaited.
/// Exceptions  those of `source`, thrown on `place`.
/// Cost        a frame, and a hop for each element.
template <class T, class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
CORACLE_CORO_WRAPPER()
async_generator<T> resume_on(async_generator<T> source, Scheduler&& place) {
  return detail::elements_to<Scheduler>(std::move(source), static_cast<Scheduler&&>(place));
}
/// Computes every element on `place` and returns: the consumer continues where it awaited the element, the
/// end or an exception. A scheduler that is passed as an lvalue must outlive the generator.
///
///     auto pages = coracle::via(render_pages(document), pool);
///
/// Resumes on  the executor on which the consumer awaited; without one, where the element was computed.
/// Exceptions  those of `source` and of `place.schedule()`, thrown after the hop back.
/// Cost        a frame, and a hop each way for each element.
template <class T, class Scheduler>
  requires scheduler<std::remove_reference_t<Scheduler>>
CORACLE_CORO_WRAPPER()
async_generator<T> via(async_generator<T> source, Scheduler&& place) {
  return detail::elements_by_way_of<Scheduler>(std::move(source), static_cast<Scheduler&&>(place));
}

template <class... Ts>
auto schedule_on(Ts&&...) {
  static_assert(detail::never<Ts...>,
                "schedule_on needs an awaitable and then a scheduler, which has a schedule() to await: "
                "schedule_on(work(), pool)");
  return detail::any_awaiter{};
}
template <class... Ts>
auto resume_on(Ts&&...) {
  static_assert(detail::never<Ts...>,
                "resume_on needs an awaitable and then a scheduler, which has a schedule() to await: "
                "resume_on(work(), pool)");
  return detail::any_awaiter{};
}
template <class... Ts>
auto via(Ts&&...) {
  static_assert(
      detail::never<Ts...>,
      "via needs an awaitable and then a scheduler, which has a schedule() to await: via(work(), pool)");
  return detail::any_awaiter{};
}
}  // namespace coracle
