// SPDX-License-Identifier: MIT
#pragma once
#include <sys/uio.h>

#include <cerrno>
#include <coracle/io/detail/io_request.hpp>
#include <cstdint>
#include <limits>
#include <span>

namespace coracle::detail {
/// In place of a result: the operation would block.
inline constexpr std::int64_t not_ready = std::numeric_limits<std::int64_t>::min();

/// Calls `attempt`, which tries to carry out the request and returns its result or not_ready. Of the branches
/// of a when_any(), only one may be carried out: the others are `lost` and return -ECANCELED.
template <class Attempt>
std::int64_t unless_lost(io_request& request, Attempt attempt) noexcept {
  if (!request.one_of) return attempt();
  request.lost = !request.one_of->hold();
  if (request.lost) return -ECANCELED;
  const std::int64_t result = attempt();
  request.one_of->settle(result != not_ready);
  return result;
}
/// Carries out a request on a pollable descriptor if it would not block. Returns what the system call
/// returned, -errno or not_ready.
std::int64_t try_now(io_request& request) noexcept;
/// For a request that was not ready. If its socket was shut down for receiving, returns what Linux does only
/// if the call waits: of an accept at a Unix socket, -EINVAL; of a receive of datagrams, 0. Otherwise
/// not_ready.
std::int64_t end_if_shut_down(io_request& request) noexcept;
/// Reads from a file through the page cache. Returns not_ready unless all of it is cached.
std::int64_t read_cached(const io_request& request) noexcept;
/// The parts of a vectored request: an opcode that ends in `_parts` or `_parts_at`.
[[nodiscard]] std::span<const iovec> parts_of(const io_request& request) noexcept;
/// The number of bytes that a request reads or writes at most.
[[nodiscard]] std::size_t total_size(const io_request& request) noexcept;
/// Carries out a request on a file; it may block.
std::int64_t run_blocking(io_request& request) noexcept;
/// Releases a result that will not be delivered: closes an accepted connection.
void discard(const io_request& request) noexcept;

/// Returns true if the request waits until its descriptor is readable, false if until it is writable.
[[nodiscard]] constexpr bool waits_to_read(io_opcode code) noexcept {
  return code <= io_opcode::wait_readable;
}
}  // namespace coracle::detail
