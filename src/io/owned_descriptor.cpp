// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <coracle/io/owned_descriptor.hpp>

namespace coracle {
void owned_descriptor::close() noexcept {
  if (const int fd = std::exchange(fd_, -1); fd >= 0) ::close(fd);
}
}  // namespace coracle
