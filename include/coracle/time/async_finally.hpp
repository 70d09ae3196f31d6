// coracle/time/async_finally.hpp -- asynchronous clean-up, however the work ends.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/detail/ends_as_failed.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/time/timeout.hpp>

namespace coracle {
namespace detail {
template <class T>
void emplace_caught(outcome<T>& end) noexcept {
  end.emplace_from([]() -> T { CORACLE_RETHROW(); });
}
template <class Function>
task<> clean_up(Function& function, subtree_until& here) {
  co_await replace_environment(here);
  const auto end = co_await as_outcome(throwing(function()));
  if (end.is_cancelled()) here.throw_if_expired(end.reason());
  co_await ends_unless_value(end);
  if (end.has_error()) rethrow(end.error());
}

// `Body` is a reference if the caller passed an lvalue.
template <class Body, class Cleanup>
task<kept_result_t<Body>> run_finally(Body body, Cleanup cleanup, std::chrono::steady_clock::duration limit) {
  using value = kept_result_t<Body>;
  environment out_of_reach;
  out_of_reach.locals = co_await read_environment([](const environment& here) { return here.locals; });
  // Everything that allocates, so that once the body has begun only the clean-up itself can fail.
  subtree_until until_limit{out_of_reach};
  until_limit.prepare_for_waits();
  auto cleaning = clean_up(cleanup, until_limit);
  outcome<value> worked;
  CORACLE_TRY() { worked = co_await detail::passing(static_cast<Body&&>(body)); }
  CORACLE_CATCH_ALL() { emplace_caught(worked); }  // by moving the result
  until_limit.begin(moment(limit));
  outcome<void> cleaned = co_await as_outcome(std::move(cleaning));
  if (worked.has_error() && cleaned.has_error()) {
    gathered_errors errors;
    errors.add(worked.error());
    errors.add(cleaned.error());
    CORACLE_END_AS_FAILED(errors.together());
  }
  if (!worked.has_error()) {
    co_await ends_unless_value(cleaned);
    cleaned.get();
  }
  co_await ends_unless_value(worked);
  co_return std::move(worked).get();
}
template <class Cleanup>
concept cleans_up = awaitable<std::invoke_result_t<std::decay_t<Cleanup>&>>;
}  // namespace detail

/// Awaits `body`; then, whether it returned, threw or was cancelled, awaits the result of `cleanup()`,
/// shielded from the surrounding stop token and deadline, but for no longer than `limit`; then returns the
/// result of `body`.
///
///     auto say_goodbye = [&] { return connection.send_goodbye(); };
///     co_await coracle::async_finally(serve(connection), say_goodbye, 5s);
///
/// An rvalue `body` is moved in, an lvalue is referred to. The function is moved in.
/// Prefer on_scope_exit if the clean-up awaits nothing. A coroutine that is destroyed while suspended runs
/// that, and cannot run this.
/// Resumes on    `cleanup` is called where `body` ended.
/// Cancellation  of `body` only. At `limit` the clean-up gets a stop request with reason timed_out, and is
///               joined.
/// Exceptions    an error of `body` or of the clean-up, timed_out if the latter took too long; if both fail,
///               an error_group with the error of `body` first. An error of the clean-up replaces a value or
///               the cancellation of `body`. std::bad_alloc before `body` starts: neither is run.
/// Cost          two frames and a stop source.
template <awaitable Body, class Cleanup, class Rep, class Period>
  requires(detail::cleans_up<Cleanup>)
CORACLE_CORO_WRAPPER()
auto async_finally(Body&& body, Cleanup&& cleanup, std::chrono::duration<Rep, Period> limit) {
  return detail::run_finally<Body, std::decay_t<Cleanup>>(
      static_cast<Body&&>(body), static_cast<Cleanup&&>(cleanup), detail::clock_duration(limit));
}
template <class Body, class Cleanup>
auto async_finally(Body&&, Cleanup&&) {
  static_assert(!sizeof(std::decay_t<Body>*),
                "async_finally(body, cleanup, limit) needs a limit for the clean-up, such as 5s");
  return detail::any_awaiter{};
}
template <class Body, class Cleanup, class Limit>
auto async_finally(Body&&, Cleanup&&, Limit&&) {
  static_assert(
      !sizeof(std::decay_t<Body>*),
      "async_finally(body, cleanup, limit) needs an awaitable, a function that returns an awaitable, such "
      "as a task, and a std::chrono::duration");
  return detail::any_awaiter{};
}
}  // namespace coracle
