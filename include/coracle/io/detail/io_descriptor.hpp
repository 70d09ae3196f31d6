// coracle/io/detail/io_descriptor.hpp -- an open file or socket of an io_service.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/io/detail/io_request.hpp>
#include <utility>

namespace coracle {
class io_service;
}  // namespace coracle

namespace coracle::detail {
class io_system;

/// Owns a descriptor and its record in an io_service. Each socket or file has one.
///
///     io_descriptor fd{service, ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
///                      io_descriptor_kind::pollable};
///
/// Threads  operations from any number of threads concurrently; closing and moving from one, with none
///          pending.
/// Cost     two words, and one allocation per descriptor, which later descriptors reuse; none per operation.
class io_descriptor {
 public:
  /// Holds no descriptor.
  io_descriptor() noexcept = default;
  /// Takes ownership of `fd`, a descriptor of the service's system, and closes it if the constructor throws
  /// std::system_error or std::bad_alloc. Requires: a pollable descriptor is non-blocking; `service` outlives
  /// this.
  io_descriptor(io_service& service, int fd, io_descriptor_kind kind);
  io_descriptor(io_descriptor&& other) noexcept
      : service_(detail::exchange(other.service_, nullptr)),
        record_(detail::exchange(other.record_, nullptr)) {}
  io_descriptor& operator=(io_descriptor&& other) noexcept {
    io_descriptor taken{std::move(other)};
    detail::swap_values(service_, taken.service_);
    detail::swap_values(record_, taken.record_);
    return *this;
  }
  ~io_descriptor() { close(); }

  /// Requires: no operation on it is pending.
  void close() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return record_ != nullptr; }
  /// -1 if it holds no descriptor.
  [[nodiscard]] int native_handle() const noexcept { return record_ ? record_->fd : -1; }
  /// Null if it holds no descriptor.
  [[nodiscard]] io_service* service() const noexcept { return service_; }
  [[nodiscard]] io_record* record() const noexcept { return record_; }
  /// The system that the descriptor belongs to. Without a descriptor, that of the process, whose calls fail
  /// for -1.
  [[nodiscard]] io_system& system() const noexcept;
  /// The system that the descriptors of `service` belong to.
  [[nodiscard]] static io_system& system_of(io_service& service) noexcept;

 private:
  io_service* service_ = nullptr;
  io_record* record_ = nullptr;
};
}  // namespace coracle::detail
