// examples/job_worker/local_jobs.hpp -- jobs of this process alone.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/channel.hpp>
#include <utility>

#include "jobs.hpp"

/// What is in it when the process dies is lost: that is what a queue outside of the process is for.
class local_jobs final : public job_queue {
 public:
  explicit local_jobs(std::size_t capacity) : jobs_(capacity) {}

  /// Waits while the queue is full.
  coracle::task<> add(job added) { co_await jobs_.send(std::move(added)); }
  /// No job is added any more.
  void close() { jobs_.close(); }

  coracle::task<std::unique_ptr<delivery>> next() override {
    auto received = co_await jobs_.recv();
    if (!received) co_return nullptr;
    co_return std::make_unique<local_delivery>(std::move(*received));
  }

 private:
  class local_delivery final : public delivery {
   public:
    explicit local_delivery(job mine) : mine_(std::move(mine)) {}
    const job& what() const override { return mine_; }
    void done() override {}
    void failed() override { std::printf("job %s is given up\n", mine_.id.c_str()); }
    void still_working() override {}

   private:
    job mine_;
  };

  coracle::channel<job> jobs_;
};
