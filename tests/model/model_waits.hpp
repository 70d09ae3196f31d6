// tests/model/model_waits.hpp -- coroutines that wait, in model checks.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/with_environment.hpp>
#include <coracle/detail/atomic.hpp>

#include "../support/detached.hpp"
#include "model_test.hpp"

namespace coracle_test {
using plain_int = coracle::detail::plain<int>;

enum class wait_end { waits, carried_out, cancelled };

/// Starts `operation` where the caller is, with `token` around it, and notes how it ends.
template <class Awaitable>
detached note_end(Awaitable&& operation, coracle::stop_token token, wait_end& end) {
  try {
    co_await coracle::with_stop(static_cast<Awaitable&&>(operation), std::move(token));
    end = wait_end::carried_out;
  } catch (const coracle::operation_cancelled&) {
    end = wait_end::cancelled;
  }
}
}  // namespace coracle_test
