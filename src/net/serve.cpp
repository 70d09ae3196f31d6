// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/time/timeout.hpp>

namespace coracle::net {
std::ptrdiff_t detail::permits_for(const serve_limits& limits) noexcept {
  CORACLE_REQUIRE(limits.connections > 0,
                  "serve() with a limit of less than one connection, so that it would accept none: set "
                  "serve_limits::connections to at least 1");
  return std::min(limits.connections, async_semaphore::max());
}
namespace {
task<> join(async_scope& clients, bool& begins) {
  begins = true;
  co_await clients.join();
}
}  // namespace

coracle::detail::library_task<> detail::drain_body(async_scope& clients, std::chrono::nanoseconds patience,
                                                   bool& joins) {
  try {
    co_await throwing(shielded(stop_after(join(clients, joins), patience)));
  } catch (const operation_cancelled&) {  // some connections did not end in time
  }
}
}  // namespace coracle::net
