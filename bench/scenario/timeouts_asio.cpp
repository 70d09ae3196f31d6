// bench/scenario/timeouts_asio.cpp -- the connections of timeouts.cpp with Boost.Asio.
// SPDX-License-Identifier: MIT
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

#include "../rivals/asio.hpp"
#include "scenario.hpp"
#include "timeouts.hpp"

namespace {
using namespace coracle_bench;
using boost::system::error_code;
using inbox = asio::experimental::channel<void(error_code, int)>;

/// A negative message is the last one.
asio::awaitable<void> serve(inbox& messages, long& received) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer{co_await asio::this_coro::executor};
  for (;;) {
    timer.expires_after(patience);
    const auto first =
        co_await (messages.async_receive(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
    if (first.index() != 0 || std::get<0>(first) < 0) co_return;
    ++received;
  }
}
asio::awaitable<void> deliver(std::deque<inbox>& inboxes) {
  for (int i = 0; i != messages_each; ++i) {
    for (inbox& each : inboxes) co_await each.async_send(error_code{}, i, asio::deferred);
    co_await asio::post(asio::deferred);
  }
  for (inbox& each : inboxes) co_await each.async_send(error_code{}, -1, asio::deferred);
}
void asio_timeouts_of_connections(scenario& run) {
  asio::io_context io{1};
  std::deque<inbox> inboxes;
  for (long i = 0; i != run.times(waiting_connections); ++i) inboxes.emplace_back(io, 1);
  long received = 0;
  run.measure([&] {
    for (inbox& each : inboxes) asio::co_spawn(io, serve(each, received), asio::detached);
    run_on(io, deliver(inboxes));
  });
  run.expect(received == messages_each * run.times(waiting_connections), "each message is received");
}

CORACLE_GROWING_SCENARIO(asio_timeouts_of_connections);
}  // namespace
