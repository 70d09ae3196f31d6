// src/io/page_cache.hpp -- reads and writes of files that the page cache takes at once.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_descriptor.hpp>

#include "io_system.hpp"
#include "write_trust.hpp"

namespace coracle::detail {
/// Carries reads and writes of files out where they are awaited, as long as that takes the page cache alone: no thread and no
/// round trip through a ring is as cheap.
///
/// Threads  any number of threads.
class page_cache {
 public:
  explicit page_cache(io_system& system) noexcept : system_(system) {}

  /// Gives what the call returned, -errno, or not_ready: the request may have to wait for its device.
  std::int64_t attempt(io_request& request, io_descriptor_kind kind) noexcept;

 private:
  io_system& system_;
  write_trust trust_;
};
}  // namespace coracle::detail
