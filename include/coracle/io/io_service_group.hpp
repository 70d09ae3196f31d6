// coracle/io/io_service_group.hpp -- several io_services, each run by a thread of its own.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/io/io_service.hpp>
#include <cstddef>
#include <memory>
#include <vector>

namespace coracle {
/// Several io_services, each run by a thread of its own, on which a server spreads its connections. Each has
/// its own ring or epoll instance, so the threads share nothing and do not wait for each other in the kernel.
///
///     coracle::io_service_group workers{4};
///     io.run(coracle::net::serve_on(workers, listener, handler));
///
/// Prefer one io_service if one processor suffices, or if the connections share much state.
/// Resumes on    as each of its io_services.
/// Exceptions    the constructor throws std::system_error if a thread cannot be started, std::bad_alloc.
/// Threads       all members but the destructor are thread-safe.
/// Cost          for each io_service a thread, and the descriptors of its engine once it is used.
class io_service_group {
 public:
  /// Starts the threads; by default, as many as there are processors. Requires: threads != 0.
  explicit io_service_group(std::size_t threads = processors());
  io_service_group(const io_service_group&) = delete;
  io_service_group& operator=(const io_service_group&) = delete;
  /// Stops and joins the threads. Requires: nothing is scheduled or pending on the io_services, and their
  /// files and sockets are closed.
  ~io_service_group();

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] io_service& operator[](std::size_t index) noexcept;
  /// Returns one io_service after the other, in turn.
  [[nodiscard]] io_service& next() noexcept {
    return (*this)[next_.fetch_add(1, detail::memory_order_relaxed) % size()]; /*N1*/
  }

 private:
  struct member;
  static std::size_t processors() noexcept;

  std::vector<std::unique_ptr<member>> members_;
  //   [N1] count one  relaxed  orders nothing: any order of turns will do
  detail::atomic<std::size_t> next_{0};
};
}  // namespace coracle
