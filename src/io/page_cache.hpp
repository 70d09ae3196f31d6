// src/io/page_cache.hpp -- reads and writes of files that need only the page cache.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_descriptor.hpp>

#include "io_system.hpp"
#include "write_trust.hpp"

namespace coracle::detail {
/// Carries out reads and writes of files on the thread that awaits them, if the page cache alone can serve
/// them: that costs less than a thread or a round trip through a ring.
///
/// Threads  all members may be called from any thread.
class page_cache {
 public:
  explicit page_cache(io_system& system) noexcept : system_(system) {}

  /// Returns what the system call returned, -errno, or not_ready if the request may have to wait for the
  /// device.
  std::int64_t attempt(io_request& request, io_descriptor_kind kind) noexcept;

 private:
  io_system& system_;
  write_trust trust_;
};
}  // namespace coracle::detail
