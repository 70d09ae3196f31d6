// bench/rivals/asio.hpp -- Boost.Asio's coroutines, run the way that its users run them.
// SPDX-License-Identifier: MIT
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <utility>

namespace coracle_bench {
namespace asio = boost::asio;

/// Runs `work` to completion on `io`, whose events this thread processes.
inline void run_on(asio::io_context& io, asio::awaitable<void> work) {
  asio::co_spawn(io, std::move(work), asio::detached);
  io.restart();
  io.run();
}
}  // namespace coracle_bench
