// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/inspect/runtime_metrics.hpp>
#include <coracle/io/detail/io_descriptor.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <coracle/io/io_engine.hpp>
#include <cstdint>

#include "io_system.hpp"

namespace coracle::detail {
class lock_bias;

/// The seam between the event loop and the system: everything that differs between epoll, io_uring and the
/// simulation. Its io_loop delivers the requests that it completes.
///
/// Threads  all members may be called from any thread, poll() from several at once.
class io_backend {
 public:
  io_backend(io_system& its_system, io_engine engine) noexcept : system_(its_system), engine_(engine) {}
  io_backend(const io_backend&) = delete;
  io_backend& operator=(const io_backend&) = delete;
  virtual ~io_backend() = default;

  /// The system that its descriptors belong to.
  [[nodiscard]] io_system& system() noexcept { return system_; }

  /// The name of the backend, and why it was chosen.
  [[nodiscard]] const io_engine& engine() const noexcept { return engine_; }

  /// Throws std::system_error or std::bad_alloc; the caller then still owns the descriptor.
  virtual io_record& attach(int fd, io_descriptor_kind kind) = 0;
  /// Closes the descriptor. Requires: no request on it is pending.
  virtual void detach(io_record& record) noexcept = 0;
  /// The number of attached descriptors.
  [[nodiscard]] virtual std::size_t attached() noexcept = 0;

  /// Returns false if the request completed immediately: its result is set, and it is not passed to the loop.
  virtual bool submit(io_request& request) noexcept = 0;
  /// Passes a request that submit() has completed to the loop after all, so that its coroutine gives way.
  virtual void deliver(io_request& request) noexcept = 0;
  /// Cancels a request, if that is still possible: it completes with -ECANCELED, through the loop if it has
  /// been submitted, otherwise in submit().
  virtual void cancel(io_request& request) noexcept = 0;
  /// Removes a submitted request, or waits until it has completed. Returns true if the loop will not deliver
  /// it, false if the loop has already delivered it.
  virtual bool withdraw(io_request& request) noexcept = 0;

  /// What poll() has detected besides completed requests.
  struct signals {
    bool woken = false;  ///< this poll(), and no other, has received a wake()
    bool timer = false;  ///< the time passed to set_timer() has come
  };
  using completions = intrusive_list<io_event>;
  /// Appends the requests that have completed to `completed`. With `wait`, sleeps until there is one, or a
  /// signal.
  virtual signals poll(bool wait, completions& completed) noexcept = 0;
  /// Submits to the system the requests that were kept for the next poll(). Called by a thread that leaves
  /// the loop.
  virtual void flush() noexcept {}
  /// Ends the sleep of one poll(): one in progress, or else the next.
  virtual void wake() noexcept = 0;
  /// Ends the sleep of one poll() at `time`, in nanoseconds of the system's clock. Replaces the previous
  /// time.
  virtual void set_timer(std::uint64_t time) noexcept = 0;
  /// The bias of the backend's locks towards a thread that runs the loop alone; null: there is none, or not
  /// yet.
  [[nodiscard]] virtual lock_bias* bias() noexcept { return nullptr; }
  /// Adds the requests that wait. A simulation has none that metrics would show.
  virtual void add_pending(io_service_metrics&) {}

 protected:
  /// Called with the lock of the queue that the event was in.
  static void complete(io_event& event, completions& completed) noexcept {
    event.progress = io_event::state::finished;
    event.listed = io_event::list::finished;
    completed.push(event);
  }
  /// The message of detach() if a request is pending.
  static constexpr const char* closed_too_early =
      "a file or socket was closed while operations on it were pending: request their stop and let them end "
      "first";
  /// The polling interval, in milliseconds, of a thread that has no epoll instance or ring to sleep in.
  static constexpr int poller_retry_ms = 1;

 private:
  io_system& system_;
  const io_engine engine_;
};
}  // namespace coracle::detail
