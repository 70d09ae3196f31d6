// tests/support/run_on_service.hpp -- a coroutine and the event loop it needs, on one thread.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <utility>

namespace coracle_test {
/// Runs `work` to its end on this thread, which processes the events of `io` meanwhile.
inline void run(coracle::io_service& io, coracle::task<> work) {
  const auto stop_after = [&]() -> coracle::task<> {
    struct stop_at_end {
      coracle::io_service& stopped;
      ~stop_at_end() { stopped.stop(); }
    } const at_end{io};
    co_await std::move(work);
  };
  const auto process = [&]() -> coracle::task<> {
    io.process_events();
    co_return;
  };
  io.reset();
  coracle::sync_wait(coracle::when_all(stop_after(), process()));
}
}  // namespace coracle_test
