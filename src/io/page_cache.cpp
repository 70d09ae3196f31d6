// SPDX-License-Identifier: MIT
#include "page_cache.hpp"

#include <sys/types.h>

#include <limits>

#include "system_call.hpp"

namespace coracle::detail {
namespace {
/// In bytes; copying this many takes about 100 us.
constexpr std::size_t max_size = std::size_t{1} << 20;
/// No file is longer. The system would treat an offset beyond as negative, and -1 as the descriptor's own
/// position.
constexpr auto end_of_longest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
}  // namespace

std::int64_t page_cache::attempt(io_request& request, io_descriptor_kind kind) noexcept {
  const bool reads = request.opcode == io_opcode::read_at || request.opcode == io_opcode::read_parts_at;
  const bool writes = request.opcode == io_opcode::write_at || request.opcode == io_opcode::write_parts_at;
  if (reads && request.offset >= end_of_longest) return 0;
  if (!(reads || writes) || total_size(request) > max_size) return not_ready;
  if (reads) return kind == io_descriptor_kind::uncached_file ? not_ready : read_cached(request);
  if (kind != io_descriptor_kind::file) return not_ready;
  const std::uint64_t begun = system_.ticks();
  if (!trust_.may_write(begun)) return not_ready;
  const std::int64_t result = run_blocking(request);
  trust_.has_written(begun, system_.ticks());
  return result;
}
}  // namespace coracle::detail
