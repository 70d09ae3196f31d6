// SPDX-License-Identifier: MIT
#pragma once
#include <sys/epoll.h>

#include <coracle/base/small_mutex.hpp>
#include <cstdint>

#include "blocking_threads.hpp"
#include "drained_stream.hpp"
#include "io_backend.hpp"
#include "made_when_needed.hpp"
#include "owned_fd.hpp"
#include "page_cache.hpp"
#include "record_pool.hpp"
#include "wake_sources.hpp"

namespace coracle::detail {
/// Edge-triggered epoll: each descriptor is registered once, and the system reports when it may have become
/// ready.
class epoll_backend final : public io_backend {
 public:
  explicit epoll_backend(io_loop& loop, std::string_view reason = {});

  io_record& attach(int fd, io_descriptor_kind kind) override;
  void detach(io_record& record) noexcept override;
  [[nodiscard]] std::size_t attached() noexcept override;
  bool submit(io_request& request) noexcept override;
  void deliver(io_request& request) noexcept override;
  void cancel(io_request& request) noexcept override;
  bool withdraw(io_request& request) noexcept override;
  signals poll(bool wait, completions& completed) noexcept override;
  void wake() noexcept override;
  void set_timer(std::uint64_t time) noexcept override;
  void add_pending(io_service_metrics& to) override;

 private:
  // Reading and writing are independent. `mutex` owns the queue, and `progress` and the links of each request
  // in it. submit() holds it from the non-blocking system call until the request is queued: if the descriptor
  // becomes ready in between, ready() waits for the lock and then finds the request, so no event is lost.
  struct direction {
    small_mutex mutex;
    intrusive_list<io_event> queue;
  };
  struct record : io_record {
    bool watches_writing = false;  // belongs to writing.mutex
    record* next_free = nullptr;
    direction reading, writing;
    drained_stream input;  // belongs to reading.mutex
  };

  /// The epoll instance that poll() sleeps in, and the descriptors that end the sleep.
  struct poller {
    /// Throws std::system_error.
    poller();
    /// Returns false on failure; see errno.
    bool watch(int operation, int fd, const void* key, std::uint32_t events) const noexcept;

    /// No effect in a child process, which shares the instance with its parent.
    void forget(int fd) const noexcept;

    owned_fd epoll;
    std::uint32_t made_in;  ///< the generation of processes
    wake_sources sources;
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
  static bool attempt(io_request& request) noexcept;
  static void ready(direction& side, completions& completed) noexcept;
  bool watch_writing(record& descriptor) noexcept;

  io_loop& loop_;
  made_when_needed<poller> poller_;  // made for the first watched descriptor, or for the first sleep
  page_cache page_cache_;
  blocking_threads threads_;
  // poll() may still report an event for a closed descriptor whose record another descriptor now uses. That
  // is harmless: an event only means that the descriptor may be ready.
  record_pool<record> records_;
};
}  // namespace coracle::detail
