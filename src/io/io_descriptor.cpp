// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <coracle/io/io_descriptor.hpp>
#include <coracle/io/io_service.hpp>

#include "io_loop.hpp"

namespace coracle::detail {
io_descriptor::io_descriptor(io_service& service, int fd, io_descriptor_kind kind) : service_(&service) {
  try {
    record_ = &service.loop_->backend().attach(fd, kind);
  } catch (...) {
    ::close(fd);
    throw;
  }
}

void io_descriptor::close() noexcept {
  service_ = nullptr;
  if (io_record* const its = std::exchange(record_, nullptr)) its->backend->detach(*its);
}
}  // namespace coracle::detail
