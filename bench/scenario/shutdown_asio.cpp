// bench/scenario/shutdown_asio.cpp -- shutdown.cpp with Boost.Asio: a cancellation_signal for each session.
// SPDX-License-Identifier: MIT
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <exception>

#include "../rivals/asio.hpp"
#include "scenario.hpp"
#include "shutdown.hpp"

namespace {
using namespace coracle_bench;
using clock = std::chrono::steady_clock;

struct goodbye {
  long& said;
  ~goodbye() { ++said; }
};
asio::awaitable<void> session(long& said_goodbye) {
  const goodbye say_goodbye{said_goodbye};
  asio::steady_timer timer{co_await asio::this_coro::executor};
  for (;;) {
    timer.expires_after(between_pings);
    co_await timer.async_wait(asio::deferred);
  }
}
asio::awaitable<void> serve(scenario& run, long& said_goodbye) {
  const auto here = co_await asio::this_coro::executor;
  for (int i = 0; i != shutdowns; ++i) {
    std::deque<asio::cancellation_signal> signals(static_cast<std::size_t>(run.times(open_sessions)));
    long left = run.times(open_sessions);
    asio::steady_timer all_ended{here, asio::steady_timer::time_point::max()};
    for (auto& each : signals) {
      asio::co_spawn(here, session(said_goodbye),
                     asio::bind_cancellation_slot(each.slot(), [&](std::exception_ptr) {
                       if (--left == 0) all_ended.cancel();
                     }));
    }
    asio::steady_timer up{here, uptime};
    co_await up.async_wait(asio::deferred);
    const auto asked = clock::now();
    for (auto& each : signals) each.emit(asio::cancellation_type::terminal);
    try {
      co_await all_ended.async_wait(asio::deferred);
    } catch (const boost::system::system_error&) {
    }
    run.waited(clock::now() - asked);
  }
}
void asio_shutdown_under_load(scenario& run) {
  asio::io_context io{1};
  long said_goodbye = 0;
  run.measure([&] { run_on(io, serve(run, said_goodbye)); });
  run.expect(said_goodbye == shutdowns * run.times(open_sessions), "each session ends in good order");
}

CORACLE_GROWING_SCENARIO(asio_shutdown_under_load);
}  // namespace
