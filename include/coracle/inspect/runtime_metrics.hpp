// coracle/inspect/runtime_metrics.hpp -- the schedulers of the program in numbers: threads, queues, timers.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle {
/// A thread that runs coroutines.
struct thread_metrics {
  int id = 0;                                 ///< as gettid() returns
  std::chrono::nanoseconds processor_time{};  ///< since it began
};

/// A static_thread_pool.
struct pool_metrics {
  struct worker {
    thread_metrics thread;
    std::size_t forked = 0;  ///< entries that it has forked or scheduled, newest first
    std::size_t queued = 0;  ///< entries that were woken or yielded on it, oldest first
  };
  std::uint64_t number = 0;       ///< of all pools and io_services, 1 for the first that was constructed
  const void* address = nullptr;  ///< as an executor
  std::vector<worker> workers;
  std::size_t searching = 0, parked = 0;      ///< workers; the others run coroutines
  std::size_t high = 0, normal = 0, low = 0;  ///< posts from outside by priority
};

/// A coroutine that waits for a descriptor.
struct pending_operation {
  int descriptor = -1;
  const char* operation = "";       ///< as `receive`
  const void* coroutine = nullptr;  ///< its frame
};

/// Timers that wait together.
struct timer_metrics {
  std::size_t waiting = 0;
  /// Until the first is due; negative if it is late, and at times less than it is. max() without timers.
  std::chrono::nanoseconds next = std::chrono::nanoseconds::max();
};

/// An io_service.
struct io_service_metrics {
  std::uint64_t number = 0;             ///< as pool_metrics::number
  const void* address = nullptr;        ///< as an executor
  std::string engine;                   ///< `epoll`, `io_uring`
  std::vector<thread_metrics> threads;  ///< those that process its events
  std::size_t sleeping = 0;             ///< of them, those with nothing to do
  std::size_t ready = 0;                ///< coroutines to be resumed and events to be delivered
  std::size_t descriptors = 0;          ///< open files and sockets
  std::size_t file_operations = 0;      ///< that threads or the kernel carry out, or that wait for those
  std::vector<pending_operation> pending;
  timer_metrics timers;
};

/// What read_runtime_metrics() returns. Pools and io_services are in the order of their construction.
struct runtime_metrics {
  std::vector<pool_metrics> pools;
  std::vector<io_service_metrics> io_services;
  timer_metrics timers;  ///< those that no io_service serves
  std::size_t shared_frame_bytes =
      0;  ///< of free frames that any thread may take; each thread has more of its own
};

/// Reads the state of every static_thread_pool, every io_service and the timers of the program.
///
///     for (const coracle::pool_metrics& pool : coracle::read_runtime_metrics().pools)
///       std::printf("%zu of %zu workers are parked\n", pool.parked, pool.workers.size());
///
/// The inspector serves the same to Prometheus, with the numbers of coroutines (docs/debugging.md). Nothing
/// is counted for it while coroutines run: what is read is there anyway. So each number is of another
/// instant, and a queue is counted while it changes. Of entries that wait in one list, at most 4096 are
/// counted.
/// Threads     any. A pool or an io_service that ends meanwhile waits for this call.
/// Exceptions  std::bad_alloc.
/// Cost        some microseconds, and a walk through the timers and through what is ready.
[[nodiscard]] runtime_metrics read_runtime_metrics();
}  // namespace coracle
