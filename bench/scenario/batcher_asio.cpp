// bench/scenario/batcher_asio.cpp -- the batches of batcher.cpp with Boost.Asio.
// SPDX-License-Identifier: MIT
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "../rivals/asio.hpp"
#include "batcher.hpp"

namespace {
using namespace coracle_bench;
using boost::system::error_code;
using channel = asio::experimental::channel<void(error_code, item)>;

/// Marks the end; no item has this time stamp.
constexpr item no_item = item::min();

asio::awaitable<void> produce(channel& to) {
  asio::steady_timer timer{co_await asio::this_coro::executor, clock::now()};
  for (long group = 0; group != item_groups; ++group) {
    timer.expires_at(timer.expiry() + between_groups);
    co_await timer.async_wait(asio::deferred);
    for (int i = 0; i != items_of_group; ++i)
      co_await to.async_send(error_code{}, clock::now(), asio::deferred);
  }
  co_await to.async_send(error_code{}, no_item, asio::deferred);
}
asio::awaitable<void> write_batches(channel& from, batch_writer& writer) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer{co_await asio::this_coro::executor};
  std::vector<item> batch;
  for (item next = co_await from.async_receive(asio::deferred); next != no_item;) {
    batch.push_back(next);
    timer.expires_after(longest_wait);
    while (batch.size() != items_of_batch) {
      const auto first =
          co_await (from.async_receive(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
      if (first.index() != 0) break;
      next = std::get<0>(first);
      if (next == no_item) break;
      batch.push_back(next);
    }
    writer.write(batch);
    batch.clear();
    if (next != no_item) next = co_await from.async_receive(asio::deferred);
  }
}
void asio_batcher(scenario& run) {
  asio::io_context io{1};
  channel items{io, item_places};
  batch_writer writer;
  run.measure([&] {
    asio::co_spawn(io, produce(items), asio::detached);
    run_on(io, write_batches(items, writer));
  });
  writer.finish(run);
}

CORACLE_SCENARIO(asio_batcher);
}  // namespace
