// examples/job_worker/jobs.hpp -- jobs, where they come from, and the loop that handles them.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/task.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>

struct job {
  std::string id;
  std::string text;
  int attempt = 1;  // more than 1 if another worker has had it before, and may have handled it
};

/// Handles one job. If it throws, the job is tried again.
using job_handler = std::function<coracle::task<>(const job&)>;

/// A job that this process holds until it reports the outcome. Without a report, as when the process dies,
/// the queue gives the job to another worker after a while.
class delivery {
 public:
  delivery() = default;
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  virtual ~delivery() = default;

  [[nodiscard]] virtual const job& what() const = 0;
  virtual void done() = 0;
  virtual void failed() = 0;
  /// That it takes longer; to be called every keep_alive_period.
  virtual void still_working() = 0;
  static constexpr std::chrono::milliseconds keep_alive_period{500};
};

class job_queue {
 public:
  job_queue() = default;
  job_queue(const job_queue&) = delete;
  job_queue& operator=(const job_queue&) = delete;
  virtual ~job_queue() = default;

  /// Returns the next job; null if there are no more, or if this process must not take more.
  virtual coracle::task<std::unique_ptr<delivery>> next() = 0;
};

inline coracle::task<> keep_alive(delivery& mine) {
  for (;;) {
    co_await coracle::sleep_for(delivery::keep_alive_period);
    mine.still_working();
  }
}

inline coracle::task<> handle_one_by_one(job_queue& jobs, const job_handler& handle) {
  while (const auto mine = co_await jobs.next()) {
    try {
      co_await coracle::when_any(handle(mine->what()), keep_alive(*mine));
      mine->done();  // only now: what is not done when the process dies is given to another
    } catch (const std::exception& error) {
      std::printf("job %s failed: %s\n", mine->what().id.c_str(), error.what());
      mine->failed();
    }
  }
}

/// Handles jobs, at most `limit` at a time, until there are no more.
inline coracle::task<> handle_all(job_queue& jobs, int limit, const job_handler& handle) {
  const auto start = [&](coracle::async_scope& workers) -> coracle::task<> {
    for (int i = 0; i < limit; ++i) workers.spawn(handle_one_by_one(jobs, handle));
    co_return;
  };
  co_await coracle::with_scope(start);
}
