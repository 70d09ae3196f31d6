// tests/model/model_waits.hpp -- coroutines that wait, in model checks.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/with_environment.hpp>

#include "../support/detached.hpp"
#include "framework/model_test.hpp"

namespace coracle_test {
using plain_int = coracle::detail::plain<int>;

/// Suspends its coroutine; the case resumes it.
class hand_out {
 public:
  explicit hand_out(std::coroutine_handle<>& where) : to_(where) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) const noexcept { to_ = suspended; }
  void await_resume() const noexcept {}

 private:
  std::coroutine_handle<>& to_;
};

enum class wait_end { waits, carried_out, cancelled };

/// Starts `operation` on the caller's executor with `token`, and records how it ends.
template <class Awaitable>
detached note_end(Awaitable&& operation, coracle::stop_token token, wait_end& end) {
  try {
    co_await coracle::with_stop(static_cast<Awaitable&&>(operation), std::move(token));
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}

/// The environment of coroutines that can be stopped. Make it before the threads: a wait below it then
/// touches none of its reference counts, and a case has a fraction of the executions.
class stoppable_place {
 public:
  stoppable_place() { inherited_.stop = source_.get_token(); }
  void request_stop() { source_.request_stop(); }
  [[nodiscard]] const coracle::environment& inherited() const noexcept { return inherited_; }

 private:
  coracle::stop_source source_;
  coracle::environment inherited_;
};

/// As detached, in a stoppable_place, its first argument; where the second is a choice, what it awaits is a
/// branch of that.
struct detached_in_place {
  class promise_type : public coracle::part::starts_eagerly,
                       public coracle::part::returns<void, coracle::part::terminates_on_error>,
                       public coracle::part::frees_itself,
                       public coracle::part::awaits_anything {
   public:
    template <class... Others>
    explicit promise_type(const stoppable_place& place, Others&...) noexcept : place_(place) {}
    template <class... Others>
    promise_type(const stoppable_place& place, coracle::detail::choice& one_of, Others&...) noexcept
        : place_(place), choice_(&one_of) {}
    detached_in_place get_return_object() const noexcept { return {}; }
    [[nodiscard]] const coracle::environment* get_environment() const noexcept { return &place_.inherited(); }
    [[nodiscard]] coracle::detail::choice* get_choice() const noexcept { return choice_; }

   private:
    const stoppable_place& place_;
    coracle::detail::choice* choice_ = nullptr;
  };
};

/// Starts `operation` on the caller's executor, stopped by `place`, and records how it ends.
template <class Awaitable>
detached_in_place note_end(const stoppable_place&, Awaitable operation, wait_end& end) {
  try {
    static_cast<void>(co_await std::move(operation));
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
/// The same as a branch of `one_of`.
template <class Awaitable>
detached_in_place note_end(const stoppable_place&, coracle::detail::choice&, Awaitable operation,
                           wait_end& end) {
  try {
    static_cast<void>(co_await std::move(operation));
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
}  // namespace coracle_test
