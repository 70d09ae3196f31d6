// tests/support/stoppable.hpp -- coroutines that a test starts with a stop token.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/environment.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/stop.hpp>
#include <utility>
#include <vector>

#include "many.hpp"

namespace coracle_test {
/// As `detached`, with the token passed as the first argument in its environment.
struct stoppable {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything {
    template <class... Others>
    explicit promise_type(const coracle::stop_token& token, Others&...) {
      environment_.stop = token;
    }
    stoppable get_return_object() const noexcept { return {}; }
    [[nodiscard]] const coracle::environment* get_environment() const noexcept { return &environment_; }

   private:
    coracle::environment environment_;
  };
};

/// Awaits `work` and logs its name; -name, if it was cancelled.
template <class Awaitable>
stoppable run_stoppable(coracle::stop_token, Awaitable work, std::vector<int>& log, int name) {
  try {
    static_cast<void>(co_await std::move(work));
    log.push_back(name);
  } catch (const coracle::operation_cancelled&) {
    log.push_back(-name);
  }
}
/// The same on `place`.
template <class Scheduler, class Awaitable>
stoppable run_stoppable_on(coracle::stop_token, Scheduler& place, Awaitable work, std::vector<int>& log,
                           int name) {
  co_await place.schedule();
  try {
    static_cast<void>(co_await std::move(work));
    log.push_back(coracle::current_executor() == &place ? name : 1000 + name);
  } catch (const coracle::operation_cancelled&) {
    log.push_back(coracle::current_executor() == &place ? -name : -1000 - name);
  }
}

/// Starts `count` waits, each with its own stop token, and stops them, the last first or in a scattered
/// order. `wait()` returns an awaitable that has to wait. Returns true if all were cancelled, in that order.
template <class Wait>
bool cancels_many(int count, bool jumping, Wait wait) {
  count = many(count);
  std::vector<coracle::stop_source> sources(static_cast<std::size_t>(count));
  std::vector<int> log, expected;
  for (int i = 0; i != count; ++i)
    run_stoppable(sources[static_cast<std::size_t>(i)].get_token(), wait(), log, i + 1);
  for (int i = 0; i != count; ++i) {
    const int at = jumping ? static_cast<int>(7919LL * i % count) : count - 1 - i;  // 7919 is prime
    sources[static_cast<std::size_t>(at)].request_stop();
    expected.push_back(-at - 1);
  }
  return log == expected;
}
}  // namespace coracle_test
