#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/run_command.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdio>

/// Waits in tasks of the library, which a stop request destroys, and then this one.
coracle::task<int> run(coracle::io_service& io) {
  const coracle::command sleep{"sleep", "100"};
  co_await coracle::run_command(io, sleep);
  co_return 0;
}
coracle::task<> stop(coracle::io_service& io) {
  int stopped = 0;
  for (int round = 0; round != 42; ++round) {
    const auto end = co_await coracle::as_outcome(coracle::stop_after(run(io), std::chrono::milliseconds(1)));
    stopped += end.is_cancelled() ? 1 : 0;
  }
  std::printf("%d\n", stopped);
}

int main() {
  coracle::io_service io;
  io.run(stop(io));
}
