// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/io/detail/io_request.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <cstdint>
#include <memory>

namespace coracle::detail::simulated {
/// Notified by a descriptor that an operation which was not ready may be ready now.
class readiness {
 public:
  virtual void may_be_read() = 0;
  virtual void may_be_written() = 0;

 protected:
  ~readiness() = default;
};

/// The object behind a descriptor of a simulated host. Results are those of the system calls: -errno.
class descriptor {
 public:
  descriptor() noexcept = default;
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  virtual ~descriptor() = default;

  /// Executes `request`, or returns not_ready.
  virtual std::int64_t try_now(io_request& request) = 0;
  /// Returns the result of a request that the test makes fail.
  virtual std::int64_t fault(const io_request& request) = 0;
  virtual void close() = 0;
  /// The host has lost power: all operations fail.
  virtual void lose_power() = 0;

  virtual int bind(const net::ip_endpoint&) { return -ENOTSOCK; }
  virtual int listen(int) { return -EOPNOTSUPP; }
  virtual int shut_down(int) { return -ENOTSOCK; }
  virtual int dissolve() { return -ENOTSOCK; }
  virtual int join_datagrams() { return -EOPNOTSUPP; }
  /// Returns null if it is not a socket.
  [[nodiscard]] virtual const net::ip_endpoint* local() const { return nullptr; }

  void watch(readiness* watcher) noexcept { watcher_ = watcher; }

 protected:
  void may_be_read() {
    if (watcher_) watcher_->may_be_read();
  }
  void may_be_written() {
    if (watcher_) watcher_->may_be_written();
  }

 private:
  readiness* watcher_ = nullptr;
};
}  // namespace coracle::detail::simulated
