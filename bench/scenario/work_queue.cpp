// bench/scenario/work_queue.cpp -- one producer, a bounded queue and two workers; each job takes a microsecond.
// SPDX-License-Identifier: MIT
#include "work_queue.hpp"

#include <array>
#include <condition_variable>
#include <coracle/coracle.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

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

/// The same with a mutex and two condition variables.
class blocking_queue {
 public:
  void put(job next) {
    std::unique_lock lock{mutex_};
    not_full_.wait(lock, [this] { return jobs_.size() < queue_places; });
    jobs_.push_back(next);
    not_empty_.notify_one();
  }
  std::optional<job> take() {
    std::unique_lock lock{mutex_};
    not_empty_.wait(lock, [this] { return !jobs_.empty() || closed_; });
    if (jobs_.empty()) return std::nullopt;
    const job next = jobs_.front();
    jobs_.pop_front();
    not_full_.notify_one();
    return next;
  }
  void close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    not_empty_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<job> jobs_;
  bool closed_ = false;
};
void threads_work_queue(scenario& run) {
  blocking_queue queue;
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
