// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/io/detail/io_request.hpp>
#include <cstdint>
#include <limits>

namespace coracle::detail {
/// It would have had to wait.
inline constexpr std::int64_t not_ready = std::numeric_limits<std::int64_t>::min();

/// Has `attempt` carry a request out, which gives not_ready if that is not possible now. A branch of a when_any() only
/// while no other branch is carried out; else it is lost.
template <class Attempt>
std::int64_t unless_lost(io_request& request, Attempt attempt) noexcept {
  if (!request.one_of) return attempt();
  request.lost = !request.one_of->hold();
  if (request.lost) return -ECANCELED;
  const std::int64_t result = attempt();
  request.one_of->settle(result != not_ready);
  return result;
}
/// Carries a request on a pollable descriptor out, if that is possible now. Gives what the call returned,
/// -errno or not_ready.
std::int64_t try_now(io_request& request) noexcept;
/// Reads from a file what is in memory. Gives not_ready if that is not all.
std::int64_t read_cached(const io_request& request) noexcept;
/// Reads from or writes to a file, and takes its time.
std::int64_t run_blocking(io_request& request) noexcept;
/// What nobody will take over any more, such as an accepted connection, is given back.
void discard(const io_request& request) noexcept;

[[nodiscard]] constexpr bool waits_to_read(io_opcode code) noexcept {
  return code <= io_opcode::wait_readable;
}
}  // namespace coracle::detail
