// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/time/timeout.hpp>

namespace coracle::net {
coracle::detail::library_task<> detail::drain_body(async_scope& clients, std::chrono::nanoseconds patience) {
  try {
    co_await throwing(shielded(stop_after(clients.join(), patience)));
  } catch (const operation_cancelled&) {  // some connections did not end in time
  }
}
}  // namespace coracle::net
