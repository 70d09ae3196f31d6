// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <cstdint>

#include "io_backend.hpp"
#include "made_when_needed.hpp"
#include "page_cache.hpp"
#include "record_pool.hpp"
#include "ring.hpp"
#include "sleep_ends.hpp"

namespace coracle::detail {
/// io_uring: the kernel carries requests out and says when they are over.
///
/// What is begun on a thread that runs the loop is only pushed; the loop submits all of it together when it polls. Elsewhere, or
/// while nothing else goes on there, a request on a socket is tried at once, and pushed only if it has to wait. What the kernel
/// cannot carry out from the request alone, and a branch of a when_any(), which must not be carried out behind the back of
/// the others, waits in the ring until its descriptor is ready, and is tried again.
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
  signals poll(bool wait) noexcept override;
  void flush() noexcept override;
  void wake() noexcept override;
  void set_timer(std::uint64_t time) noexcept override;

 private:
  // The kernel has the first request of a queue, in state `running` or `cancelling`; the others wait for it. `mutex` owns the
  // queue, and `progress` and the links of its requests.
  struct direction {
    small_mutex mutex;
    intrusive_list<io_event> queue;
  };
  /// Of a file, the kernel has any number of requests at once: `reading.mutex` owns their `progress`, whatever they do.
  struct record : io_record {
    std::size_t in_kernel = 0;  // of a file; belongs to reading.mutex
    record* next_free = nullptr;
    direction reading, writing;
  };
  /// The ring, and what ends a sleep in it.
  struct poller {
    /// Throws std::system_error.
    poller();
    void watch_event() noexcept;
    void watch_timer() noexcept;

    sleep_ends ends;
    ring its_ring;
  };

  static record& record_of(const io_request& request) noexcept {
    return static_cast<record&>(*request.record);
  }
  static bool is_file(const io_request& request) noexcept {
    return record_of(request).kind != io_descriptor_kind::pollable;
  }
  static direction& direction_of(const io_request& request) noexcept;
  bool submit_polled(io_request& request) noexcept;
  bool submit_file(io_request& request) noexcept;
  [[nodiscard]] bool is_tried_first(const io_request& request) noexcept;
  void begin(io_request& request) noexcept;
  void begin_first(direction& its) noexcept;
  void see(const io_uring_cqe& completion, signals& seen) noexcept;
  void completed(io_request& request, std::int64_t result) noexcept;
  bool take_out(io_request& request) noexcept;
  void cancel_in_kernel(io_request& request) noexcept;
  bool conclude(io_request& request, std::int64_t result) noexcept;

  io_loop& loop_;
  page_cache page_cache_;
  made_when_needed<poller> poller_;  // by the first descriptor, or the first sleep
  record_pool<record> records_;
};
}  // namespace coracle::detail
