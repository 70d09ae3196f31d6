// coracle/time/retry.hpp -- retry with backoff and jitter.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/split_mix.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/detail/ends_as_failed.hpp>
#include <coracle/core/task.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdint>

namespace coracle {
/// The number of attempts and the delays between them: after the n-th failure a uniformly distributed time
/// from 0 to `first_delay` * 2^(n-1), at most `max_delay`. So clients that failed together do not return
/// together: "full jitter" (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
///
///     co_await coracle::retry({.max_attempts = 5, .first_delay = 50ms}, [&] { return fetch(url); });
struct retry_policy {
  using duration = std::chrono::steady_clock::duration;

  unsigned max_attempts = 3;                              ///< at least 1
  duration first_delay = std::chrono::milliseconds{100};  ///< not negative
  duration max_delay = std::chrono::seconds{10};          ///< not negative
  duration max_elapsed = duration::max();  ///< no attempt begins later than this after the first
  std::uint64_t seed = 0;                  ///< equal seeds give equal delays; 0: unpredictable
};

namespace detail {
/// Returns a seed that differs from call to call and from process to process.
[[nodiscard]] std::uint64_t unpredictable_seed() noexcept;

/// The delays of one retry(). A multiplication maps a random number into the range: D. Lemire, "Fast random
/// integer generation in an interval", 2019, without the rejection step; the bias is less than 2^-64 of the
/// range.
class backoff {
 public:
  explicit backoff(const retry_policy& policy) noexcept
      : longest_(policy.first_delay),
        max_(policy.max_delay),
        random_(policy.seed != 0 ? policy.seed : unpredictable_seed()) {}
  [[nodiscard]] retry_policy::duration next() noexcept {
    const auto range = static_cast<std::uint64_t>((longest_ < max_ ? longest_ : max_).count()) + 1;
    longest_ = longest_ < max_ / 2 ? longest_ * 2 : max_;
    return retry_policy::duration{static_cast<retry_policy::duration::rep>(high_product(random_(), range))};
  }

 private:
  static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>(wide{a} * b >> 64);
  }

  retry_policy::duration longest_;
  retry_policy::duration max_;
  split_mix random_;
};

struct any_error {
  bool operator()(const std::exception_ptr&) const noexcept { return true; }
};
template <class Attempt>
using attempt_result_t = kept_result_t<std::invoke_result_t<Attempt&>>;

/// Awaits an attempt and keeps its end. What the result throws while it is moved out is thus not taken for a
/// failure of the attempt.
template <class Awaitable>
class attempt_operation : public passing_operation<Awaitable> {
 public:
  using passing_operation<Awaitable>::passing_operation;
  /// Returns true if there is a result(), false if there is a failure().
  bool await_resume() noexcept { return this->finish(); }
  kept_result_t<Awaitable> result() { return this->work().result(); }
  [[nodiscard]] outcome<void> failure() noexcept { return this->work().failure(); }
};

template <class Attempt, class RetryIf>
task<attempt_result_t<Attempt>> run_retry(retry_policy policy, Attempt attempt, RetryIf retry_if) {
  CORACLE_REQUIRE(policy.max_attempts != 0, "a retry_policy with max_attempts of 0: allow at least one");
  CORACLE_REQUIRE(
      policy.first_delay >= policy.first_delay.zero() && policy.max_delay >= policy.max_delay.zero(),
      "the delays of a retry_policy must not be negative");
  co_await counted_as_ready{};
  const auto latest = later_by(steady_now(), policy.max_elapsed);
  backoff delays{policy};
  for (unsigned attempts = 1;; ++attempts) {
    co_await this_task::throw_if_stopped();
    bool succeeded = false;
    std::exception_ptr error;
    CORACLE_TRY() {
      attempt_operation<std::invoke_result_t<Attempt&>> running(attempt());
      succeeded = co_await running;
      if (succeeded) co_return running.result();
      const outcome<void> failure = running.failure();
      if (failure.is_cancelled()) co_await ends_as_stopped(failure.reason());
      error = failure.error();
    }
    CORACLE_CATCH(const operation_cancelled&, ignored) { CORACLE_RETHROW(); }
    CORACLE_CATCH_ALL() {  // by attempt() itself, or by moving the result out
      if (succeeded) CORACLE_RETHROW();
      error = std::current_exception();
    }
    if (attempts == policy.max_attempts || !retry_if(error)) CORACLE_END_AS_FAILED(error);
    const retry_policy::duration delay = delays.next();
    if (later_by(steady_now(), delay) > latest) CORACLE_END_AS_FAILED(error);
    error = nullptr;
    co_await sleep_for(delay);
  }
}
template <class Attempt, class RetryIf>
concept retriable = awaitable<std::invoke_result_t<std::decay_t<Attempt>&>> &&
                    std::is_invocable_r_v<bool, std::decay_t<RetryIf>&, std::exception_ptr>;
}  // namespace detail

/// Awaits the result of `attempt()`, and retries after a delay if it throws and `retry_if(exception_ptr)`
/// returns true, as it does for every error by default.
///
///     auto ask = [&] { return coracle::timeout(server.ask(question), 1s); };
///     const answer a = co_await coracle::retry({.max_attempts = 4}, ask);
///
/// The functions are moved in, or copied, and kept until the last attempt has ended. The clock is that of the
/// current executor.
/// Resumes on    where the last attempt ended.
/// Cancellation  a stop request ends the running attempt, or the delay, immediately; operation_cancelled is
///               never retried. To retry an attempt that takes too long, use timeout(): timed_out is an
///               error.
/// Exceptions    the last attempt's, once no further attempt follows; earlier ones are dropped. Those of
///               moving the result out, without another attempt.
/// Cost          one frame, and the attempts.
template <class Attempt, class RetryIf = detail::any_error>
  requires(detail::retriable<Attempt, RetryIf>)
CORACLE_CORO_WRAPPER()
auto retry(const retry_policy& policy, Attempt&& attempt, RetryIf&& retry_if = {}) {
  return detail::run_retry<std::decay_t<Attempt>, std::decay_t<RetryIf>>(
      policy, static_cast<Attempt&&>(attempt), static_cast<RetryIf&&>(retry_if));
}
template <class Attempt, class RetryIf = detail::any_error>
auto retry(const retry_policy&, Attempt&&, RetryIf&& = {}) {
  static_assert(
      !sizeof(std::decay_t<Attempt>*),
      "retry(policy, attempt, retry_if) needs a function that returns an awaitable, such as a task, and, if "
      "given, one that takes a std::exception_ptr and returns a bool");
  return detail::any_awaiter{};
}
template <class Attempt>
auto retry(Attempt&&, const retry_policy&) {
  static_assert(!sizeof(std::decay_t<Attempt>*),
                "the policy comes before the attempt: retry(policy, attempt)");
  return detail::any_awaiter{};
}
template <class Policy, class... Functions>
  requires(!std::is_convertible_v<Policy, retry_policy>)
auto retry(Policy&&, Functions&&...) {
  static_assert(!sizeof(std::decay_t<Policy>*),
                "retry(policy, attempt, retry_if) begins with a retry_policy: {.max_attempts = 3}");
  return detail::any_awaiter{};
}
}  // namespace coracle
