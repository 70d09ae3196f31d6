// examples/39_supervisor.cpp -- a process supervisor: restarts a failed worker with backoff, and ends it
// gracefully at SIGTERM.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

using coracle::task;
using namespace std::chrono_literals;

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

/// What the worker process runs: fails twice, and leaves a process running; then works until it is stopped.
int work() {
  if (std::atoi(std::getenv("ATTEMPT")) < 3) {
    const int started = std::system("sleep 1000 &");  // it has our output, too
    return started == 0 ? 1 : 2;
  }
  coracle::io_service io;
  coracle::signal_set signals{io, {SIGTERM}};
  say("is ready");
  io.run(signals.wait());
  say("saves its work");
  return 0;
}

/// Shows what the worker writes, up to its end.
task<> show(coracle::stream_descriptor& from, coracle::async_manual_reset_event& ready) {
  coracle::buffered_reader lines{from};
  for (;;) {
    const auto line = co_await lines.read_line();
    if (!line) break;
    std::printf("worker %.*s\n", static_cast<int>(line->size()), line->data());
    if (*line == "is ready") ready.set();
  }
}

/// Waits until it has ended. When stopped, terminates it: gracefully, if it ends within five seconds.
task<coracle::exit_status> attend(coracle::process& worker) {
  std::optional<coracle::exit_status> ended = co_await coracle::as_optional(worker.wait());
  if (!ended) ended = co_await coracle::shielded(worker.terminate(5s));
  worker.signal_group(SIGKILL);  // what it has left running: show() would wait for the end of its output
  co_return *ended;
}

task<> supervise(coracle::io_service& io, coracle::async_manual_reset_event& ready) {
  std::chrono::milliseconds delay{10};
  for (int attempt = 1;; ++attempt) {
    coracle::command what{"/proc/self/exe", "worker"};
    what.environment("ATTEMPT", std::to_string(attempt)).output(coracle::redirection::pipe()).new_group();
    coracle::process worker{io, what};
    // Shielded, so that its last output is shown even while this is being stopped.
    const auto both =
        co_await coracle::when_all(attend(worker), coracle::shielded(show(worker.output(), ready)));
    std::printf("attempt %d %s\n", attempt, std::get<0>(both).to_string().c_str());
    co_await coracle::sleep_for(delay);  // stopped, it ends here
    delay = std::min<std::chrono::milliseconds>(2 * delay, 10s);
  }
}

task<> until_told(coracle::signal_set& signals) {
  co_await signals.wait();
  std::puts("SIGTERM");
}
/// As `kill PID` in another terminal.
task<> tell(coracle::async_manual_reset_event& ready) {
  co_await ready;
  kill(getpid(), SIGTERM);
}

task<> demonstrate(coracle::io_service& io) {
  coracle::signal_set signals{io, {SIGTERM}};
  coracle::async_manual_reset_event ready;
  co_await coracle::when_all(coracle::when_any(coracle::throwing(supervise(io, ready)), until_told(signals)),
                             tell(ready));
}

int main(int argc, char**) {
  if (argc > 1) return work();
  coracle::io_service io;
  io.run(demonstrate(io));
}

// Output:
//   attempt 1 exited with 1
//   attempt 2 exited with 1
//   worker is ready
//   SIGTERM
//   worker saves its work
//   attempt 3 exited with 0
