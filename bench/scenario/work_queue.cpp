// bench/scenario/work_queue.cpp -- one producer, a bounded queue, two workers, and jobs of one microsecond.
// SPDX-License-Identifier: MIT
#include "work_queue.hpp"

#include <array>
#include <coracle/coracle.hpp>
#include <thread>
#include <vector>

#include "blocking_queue.hpp"
#include "scenario.hpp"

namespace {
using coracle::channel;
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

using workers = std::array<worked, queue_workers>;

void expect_done(scenario& run, const workers& all, long jobs) {
  long done = 0;
  for (const worked& each : all) done += each.jobs;
  run.expect(done == jobs, "each job is done once");
}

task<> produce(static_thread_pool& pool, channel<job>& to, long n) {
  co_await pool.schedule();
  for (long i = 0; i != n; ++i) co_await to.send(static_cast<job>(i));
  to.close();
}
task<> work(static_thread_pool& pool, channel<job>& from, worked& mine) {
  co_await pool.schedule();
  while (auto next = co_await from.recv()) mine.on(*next);
}
void work_queue(scenario& run) {
  static_thread_pool pool{queue_workers};
  channel<job> queue{queue_places};
  workers all;
  run.measure([&] {
    coracle::sync_wait(coracle::when_all(produce(pool, queue, run.times(queued_jobs)),
                                         work(pool, queue, all[0]), work(pool, queue, all[1])));
  });
  expect_done(run, all, run.times(queued_jobs));
}

/// The same, with a mutex and two condition variables.
void threads_work_queue(scenario& run) {
  blocking_queue<job> queue{queue_places};
  workers all;
  run.measure([&] {
    std::vector<std::thread> threads;
    for (worked& mine : all) {
      threads.emplace_back([&queue, &mine] {
        while (const auto next = queue.take()) mine.on(*next);
      });
    }
    for (long i = 0; i != run.times(queued_jobs); ++i) queue.put(static_cast<job>(i));
    queue.close();
    for (std::thread& each : threads) each.join();
  });
  expect_done(run, all, run.times(queued_jobs));
}

CORACLE_GROWING_SCENARIO(work_queue);
CORACLE_GROWING_SCENARIO(threads_work_queue);
}  // namespace
