// coracle/io/detail/io_descriptor.hpp -- an open file or socket of an io_service.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_request.hpp>
#include <utility>

namespace coracle {
class io_service;
}  // namespace coracle

namespace coracle::detail {
class io_system;

/// Owns a descriptor and what its io_service keeps about it. A socket or a file has one.
///
///     io_descriptor fd{service, ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
///                      io_descriptor_kind::pollable};
///
/// Threads  operations from any number of threads at once; closing and moving from one, with none pending.
/// Cost     one word; one allocation a descriptor, kept for later ones; none an operation.
class io_descriptor {
 public:
  /// Holds nothing.
  io_descriptor() noexcept = default;
  /// Takes over `fd`, of the service's system, and closes it if this throws: std::system_error, std::bad_alloc. Requires: a pollable
  /// one is non-blocking; `service` lives longer than this.
  io_descriptor(io_service& service, int fd, io_descriptor_kind kind);
  io_descriptor(io_descriptor&& other) noexcept
      : service_(std::exchange(other.service_, nullptr)), record_(std::exchange(other.record_, nullptr)) {}
  io_descriptor& operator=(io_descriptor&& other) noexcept {
    io_descriptor taken{std::move(other)};
    std::swap(service_, taken.service_);
    std::swap(record_, taken.record_);
    return *this;
  }
  ~io_descriptor() { close(); }

  /// Requires: no operation on it is pending.
  void close() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return record_ != nullptr; }
  /// -1: holds nothing.
  [[nodiscard]] int native_handle() const noexcept { return record_ ? record_->fd : -1; }
  /// Null if it holds nothing.
  [[nodiscard]] io_service* service() const noexcept { return service_; }
  [[nodiscard]] io_record* record() const noexcept { return record_; }
  /// Where it is from; the process's own, which knows no descriptor -1, if it holds nothing.
  [[nodiscard]] io_system& system() const noexcept;
  /// Where those of `service` are from.
  [[nodiscard]] static io_system& system_of(io_service& service) noexcept;

 private:
  io_service* service_ = nullptr;
  io_record* record_ = nullptr;
};
}  // namespace coracle::detail
