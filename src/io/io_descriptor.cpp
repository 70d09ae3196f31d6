// SPDX-License-Identifier: MIT
#include <coracle/io/detail/io_descriptor.hpp>
#include <coracle/io/io_service.hpp>

#include "io_loop.hpp"

namespace coracle::detail {
io_descriptor::io_descriptor(io_service& service, int fd, io_descriptor_kind kind) : service_(&service) {
  try {
    record_ = &service.loop_->backend().attach(fd, kind);
  } catch (...) {
    system_of(service).close(fd);
    throw;
  }
}

void io_descriptor::close() noexcept {
  service_ = nullptr;
  if (io_record* const its = std::exchange(record_, nullptr)) its->backend->detach(*its);
}

io_system& io_descriptor::system() const noexcept {
  return record_ ? record_->backend->system() : io_system::linux_system();
}
io_system& io_descriptor::system_of(io_service& service) noexcept { return service.loop_->system(); }
}  // namespace coracle::detail
