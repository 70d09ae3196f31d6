// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_request.hpp>

#include "../exec/elastic_threads.hpp"

namespace coracle::detail {
class io_loop;

/// Threads that carry out requests that epoll cannot wait for: reads and writes of files.
class blocking_threads final : elastic_threads {
 public:
  explicit blocking_threads(io_loop& loop) noexcept
      : elastic_threads("coracle-files", max_threads, std::chrono::seconds{10}), loop_(loop) {}
  /// Requires: nothing is queued.
  ~blocking_threads() { retire(); }

  // As in io_backend.
  bool submit(io_request& request) noexcept;
  void cancel(io_request& request) noexcept;
  bool withdraw(io_request& request) noexcept;
  [[nodiscard]] bool is_cancelled(const io_request& request) noexcept;
  [[nodiscard]] bool has_none_of(const io_record& record) noexcept;
  /// Passes a completed request to the loop.
  void deliver(io_request& request) noexcept;
  /// Returns how many requests on the record are queued or running.
  [[nodiscard]] std::size_t count_of(const io_record& record) noexcept;

 private:
  static constexpr std::size_t max_threads = 4;

  void push(io_request& request) noexcept;
  void take_out(io_request& request) noexcept;
  void finish(io_request& request, std::int64_t result) noexcept;
  bool run_one(std::unique_lock<mutex>& lock) noexcept override;

  // mutex_ owns the members below, and `progress` and the links of each request that is not finished.
  io_loop& loop_;
  condition_variable ended_;  // a request has become `finished`
  intrusive_list<io_event> queue_;
  std::size_t queued_ = 0;
};
}  // namespace coracle::detail
