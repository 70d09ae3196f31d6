// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <cstdint>

#include "io_backend.hpp"
#include "made_when_needed.hpp"
#include "page_cache.hpp"
#include "record_pool.hpp"
#include "ring.hpp"
#include "wake_sources.hpp"

namespace coracle::detail {
/// io_uring: the kernel carries out requests and posts their completions.
///
/// A request that is begun on a thread that runs the loop is only pushed; the loop submits all of them
/// together when it polls. On another thread, or while nothing else is ready on the loop, the backend tries a
/// socket's request with a system call, and pushes it only if it has to wait.
///
/// The kernel does not carry out every request. For some opcodes, and for branches of a when_any(), of which
/// at most one may take effect, the ring only waits until the descriptor is ready; the backend then makes the
/// system call itself.
class ring_backend final : public io_backend {
 public:
  explicit ring_backend(io_loop& loop, std::string_view reason = {}) noexcept;

  io_record& attach(int fd, io_descriptor_kind kind) override;
  void detach(io_record& record) noexcept override;
  [[nodiscard]] std::size_t attached() noexcept override { return records_.in_use(); }
  bool submit(io_request& request) noexcept override;
  void deliver(io_request& request) noexcept override;
  void cancel(io_request& request) noexcept override;
  bool withdraw(io_request& request) noexcept override;
  signals poll(bool wait, completions& completed) noexcept override;
  void flush() noexcept override;
  void wake() noexcept override;
  void set_timer(std::uint64_t time) noexcept override;
  void add_pending(io_service_metrics& to) override;
  [[nodiscard]] lock_bias* bias() noexcept override;

 private:
  using use = lock_bias::use;
  // The first request of a queue is pushed to the kernel and is `running` or `cancelling`; the others wait
  // for it. `mutex` owns the queue, and `progress` and the links of the requests in it. A use that is alone
  // does without it, as without the lock of the ring's entries (lock_bias).
  struct direction {
    small_mutex mutex;
    intrusive_list<io_event> queue;
  };
  /// For a file, any number of requests are pushed at once: `reading.mutex` owns their `progress`, whether
  /// they read or write.
  struct record : io_record {
    std::size_t in_kernel = 0;      // a file's pushed requests; belongs to reading.mutex
    bool is_known_to_seek = false;  // likewise
    record* next_free = nullptr;
    direction reading, writing;
  };
  /// The ring, and the descriptors that end a sleep in it.
  struct poller {
    /// Throws std::system_error.
    poller();
    void watch_event(const use& by) noexcept;
    void watch_timer(const use& by) noexcept;

    wake_sources sources;
    ring uring;
  };

  static record& record_of(const io_request& request) noexcept {
    return static_cast<record&>(*request.record);
  }
  static bool is_file(const io_request& request) noexcept {
    return record_of(request).kind != io_descriptor_kind::pollable;
  }
  static direction& direction_of(const io_request& request) noexcept;
  struct harvest {
    completions& completed;
    signals seen;
  };
  void handle(const io_uring_cqe& completion, harvest& found) noexcept;
  void handle(io_request& request, std::int64_t result, completions& completed) noexcept;
  [[nodiscard]] bool tries_call_first(const io_request& request) noexcept;
  [[nodiscard]] static bool has_offsets(record& descriptor) noexcept;
  // Called with the lock of the request's direction, unless the use is alone:
  bool submit_polled(const use& by, io_request& request, intrusive_list<io_event>& queue,
                     bool tries_call) noexcept;
  bool submit_file(const use& by, io_request& request) noexcept;
  void begin(const use& by, io_request& request) noexcept;
  void begin_first(const use& by, direction& side) noexcept;
  bool take_out(const use& by, io_request& request) noexcept;
  void cancel_in_kernel(const use& by, io_request& request) noexcept;
  void flush_soon(const use& by) noexcept;
  bool conclude(io_request& request, std::int64_t result) noexcept;

  io_loop& loop_;
  page_cache page_cache_;
  made_when_needed<poller> poller_;  // made for the first descriptor, or for the first sleep
  record_pool<record> records_;
};
}  // namespace coracle::detail
