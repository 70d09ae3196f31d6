// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <coracle/io/io_request.hpp>
#include <mutex>
#include <thread>
#include <vector>

namespace coracle::detail {
class io_loop;

/// Threads that carry out what the system cannot be asked to tell the end of: reads and writes of files.
class blocking_threads {
 public:
  explicit blocking_threads(io_loop& loop) noexcept : loop_(loop) {}
  blocking_threads(const blocking_threads&) = delete;
  blocking_threads& operator=(const blocking_threads&) = delete;
  /// Requires: nothing is queued.
  ~blocking_threads();

  // As in io_backend.
  bool submit(io_request& request) noexcept;
  void cancel(io_request& request) noexcept;
  bool withdraw(io_request& request) noexcept;
  [[nodiscard]] bool is_cancelled(const io_request& request) noexcept;
  [[nodiscard]] bool has_none_of(const io_record& record) noexcept;
  /// For a request that is over already: the loop delivers it.
  void deliver(io_request& request) noexcept;

 private:
  static constexpr std::size_t most_threads = 4;

  bool start_thread() noexcept;
  void push(io_request& request) noexcept;
  void take_out(io_request& request) noexcept;
  void finish(io_request& request, std::int64_t result) noexcept;
  void run() noexcept;

  // mutex_ owns all below, and `progress` and the links of each request that is not finished.
  io_loop& loop_;
  std::mutex mutex_;
  std::condition_variable work_;   // queue_ is not empty, or stopping_
  std::condition_variable ended_;  // a request has become `finished`
  io_event_list queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};
}  // namespace coracle::detail
