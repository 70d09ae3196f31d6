// examples/job_worker/main.cpp -- one job handler, in this process or on a fleet of workers.
// SPDX-License-Identifier: MIT
//
//   job_worker local COUNT         handles COUNT jobs of its own
//   job_worker add URL COUNT       adds jobs to the stream of the NATS server at URL
//   job_worker work URL            handles jobs from there until SIGTERM or Ctrl-C; finishes those it has
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "local_jobs.hpp"
#include "nats_jobs.hpp"

using namespace std::chrono_literals;

constexpr int most_at_once = 8;

/// The work. It may be done twice if a worker dies between doing it and calling done(), so a finished job
/// must be recognised by its id; here, by the reader of the output.
coracle::task<> handle(const job& mine) {
  if (mine.text == "poison") throw std::runtime_error("cannot be done");
  co_await coracle::sleep_for(mine.text == "long" ? 3s : 50ms);
  std::printf("done %s %d\n", mine.id.c_str(), mine.attempt);
}

job job_number(int number) {
  return {std::to_string(number), number % 20 == 0 ? "poison" : number % 10 == 0 ? "long" : "short"};
}

coracle::task<> add_jobs(local_jobs& jobs, int count) {
  for (int i = 1; i <= count; ++i) co_await jobs.add(job_number(i));
  jobs.close();
}

coracle::task<> stop_at_signal(coracle::signal_set& signals, nats_jobs& jobs) {
  co_await signals.wait();
  std::puts("takes no more");
  jobs.take_no_more();
}

coracle::task<> work(coracle::io_service& io, nats_jobs& jobs) {
  coracle::signal_set signals{io, {SIGINT, SIGTERM}};
  jobs.subscribe(most_at_once);
  co_await coracle::when_all(handle_all(jobs, most_at_once, handle), stop_at_signal(signals, jobs));
  co_await jobs.close();
  std::puts("stopped");
}

int main(int count, char** arguments) try {
  const std::string_view what = count > 1 ? arguments[1] : "";
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // writes each line immediately, also into a file
  coracle::io_service io;
  if (what == "local" && count == 3) {
    local_jobs jobs{2 * most_at_once};
    io.run(
        coracle::when_all(add_jobs(jobs, std::atoi(arguments[2])), handle_all(jobs, most_at_once, handle)));
  } else if (what == "add" && count == 4) {
    nats_jobs jobs{arguments[2]};
    for (int i = 1; i <= std::atoi(arguments[3]); ++i) jobs.add(job_number(i));
    coracle::sync_wait(jobs.close());
  } else if (what == "work" && count == 3) {
    nats_jobs jobs{arguments[2]};
    io.run(work(io, jobs));
  } else {
    std::fputs("usage: job_worker local COUNT | add URL COUNT | work URL\n", stderr);
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "job_worker: %s\n", error.what());
  return 1;
}
