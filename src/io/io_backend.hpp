// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_descriptor.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <coracle/io/io_engine.hpp>
#include <cstdint>

#include "io_system.hpp"

namespace coracle::detail {
/// The seam between the event loop and the system: all that differs between epoll, io_uring and others. A
/// backend hands what is over to its io_loop.
///
/// Threads  all members from any thread; poll() from several at once.
class io_backend {
 public:
  io_backend(io_system& its_system, io_engine engine) noexcept : system_(its_system), engine_(engine) {}
  io_backend(const io_backend&) = delete;
  io_backend& operator=(const io_backend&) = delete;
  virtual ~io_backend() = default;

  /// Where its descriptors are from.
  [[nodiscard]] io_system& system() noexcept { return system_; }

  /// What it is, and why it was chosen.
  [[nodiscard]] const io_engine& engine() const noexcept { return engine_; }

  /// Throws std::system_error, std::bad_alloc; the descriptor is then the caller's as before.
  virtual io_record& attach(int fd, io_descriptor_kind kind) = 0;
  /// Closes the descriptor. Requires: no request on it is pending.
  virtual void detach(io_record& record) noexcept = 0;
  /// Descriptors that are attached.
  [[nodiscard]] virtual std::size_t attached() noexcept = 0;

  /// Returns false if the request completed at once: its result is set, and the loop is not told.
  virtual bool submit(io_request& request) noexcept = 0;
  /// For a request that submit() has carried out: the loop delivers it nevertheless.
  virtual void deliver(io_request& request) noexcept = 0;
  /// Has a submitted request end with -ECANCELED, by way of the loop, if that is still possible; one that is
  /// not submitted yet ends so in submit().
  virtual void cancel(io_request& request) noexcept = 0;
  /// Removes a submitted request, or waits until it is over. Returns true if the loop was not told of it.
  virtual bool withdraw(io_request& request) noexcept = 0;

  /// What poll() learned beside the requests that are over.
  struct signals {
    bool woken = false;  ///< a wake() has arrived here, and nowhere else
    bool timer = false;  ///< the time of set_timer() has come
  };
  /// Looks for what is over and tells the loop. With `wait`, sleeps until there is something to tell.
  virtual signals poll(bool wait) noexcept = 0;
  /// Tells the system of what was submitted here and kept for the next poll(). Called by a thread that leaves the loop.
  virtual void flush() noexcept {}
  /// Ends the sleep of one poll(), now or the next to come.
  virtual void wake() noexcept = 0;
  /// Ends the sleep of one poll() at this time: nanoseconds by the system's clock. Replaces the last one.
  virtual void set_timer(std::uint64_t time) noexcept = 0;

 protected:
  /// The message of detach() if a request is pending.
  static constexpr const char* closed_too_early =
      "a file or socket was closed while operations on it were pending: request their stop and let them end "
      "first";
  /// The interval, in milliseconds, at which a thread that has nothing to sleep in looks for completed requests.
  static constexpr int ms_without_poller = 1;

 private:
  io_system& system_;
  const io_engine engine_;
};
}  // namespace coracle::detail
