// tests/support/test_coroutine.hpp -- a coroutine that a test starts, inspects and destroys by hand.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/promise_parts.hpp>
#include <utility>

namespace coracle_test {
/// Starts at resume() and stays suspended at its end. Its children get an empty environment.
///
///     test_coroutine waiting = awaiting(some_task());
///     waiting.resume();  // runs to its first suspension
///     CHECK_FALSE(waiting.done());
class [[nodiscard]] test_coroutine {
 public:
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<void, coracle::part::rethrows_errors>,
                        coracle::part::stays_at_end,
                        coracle::part::awaits_anything {
    test_coroutine get_return_object() noexcept {
      return test_coroutine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
  };

  test_coroutine(test_coroutine&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  test_coroutine& operator=(test_coroutine&&) = delete;
  ~test_coroutine() { destroy(); }

  /// Runs it until it suspends; rethrows an exception that leaves its body.
  void resume() { coracle::resume(body_); }
  [[nodiscard]] bool done() const noexcept { return body_.done(); }
  [[nodiscard]] std::coroutine_handle<> handle() const noexcept { return body_; }
  /// Destroys it at its suspension point.
  void destroy() noexcept {
    if (body_) std::exchange(body_, nullptr).destroy();
  }

 private:
  explicit test_coroutine(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  std::coroutine_handle<promise_type> body_;
};

/// A test_coroutine that awaits `value` and drops its result.
template <class Awaitable>
test_coroutine awaiting(Awaitable value) {
  static_cast<void>(co_await static_cast<Awaitable&&>(value));
}
/// The same, started.
template <class Awaitable>
test_coroutine started(Awaitable value) {
  test_coroutine root = awaiting<Awaitable>(static_cast<Awaitable&&>(value));
  root.resume();
  return root;
}
}  // namespace coracle_test
