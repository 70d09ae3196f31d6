// SPDX-License-Identifier: MIT
#include "page_cache.hpp"

#include <sys/types.h>

#include <algorithm>
#include <limits>
#include <span>

#include "system_call.hpp"

namespace coracle::detail {
namespace {
/// In bytes; copying this many takes about 100 us.
constexpr std::size_t max_size = std::size_t{1} << 20;
/// No file is longer. The system would treat an offset beyond as negative, and -1 as the descriptor's own
/// position.
constexpr auto end_of_longest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

/// Shortens a read that would end beyond the longest file, which the system refuses: of several pieces of
/// memory to the first.
void end_at_longest(io_request& read) noexcept {
  if (read.opcode == io_opcode::read_parts_at) {
    const std::span parts = parts_of(read);
    const auto first =
        std::find_if(parts.begin(), parts.end() - 1, [](const iovec& each) { return each.iov_len != 0; });
    read.opcode = io_opcode::read_at;
    read.buffer = first->iov_base;
    read.size = first->iov_len;
  }
  read.size = std::min<std::uint64_t>(read.size, end_of_longest - read.offset);
}
}  // namespace

std::int64_t page_cache::attempt(io_request& request, io_descriptor_kind kind) noexcept {
  const bool reads = request.opcode == io_opcode::read_at || request.opcode == io_opcode::read_parts_at;
  const bool writes = request.opcode == io_opcode::write_at || request.opcode == io_opcode::write_parts_at;
  if (reads && request.offset >= end_of_longest) return 0;
  if (!(reads || writes)) return not_ready;
  const std::size_t size = total_size(request);
  if (reads && size > end_of_longest - request.offset) [[unlikely]]
    end_at_longest(request);
  if (size > max_size) return not_ready;
  if (reads) return kind == io_descriptor_kind::uncached_file ? not_ready : read_cached(request);
  if (kind != io_descriptor_kind::file) return not_ready;
  const std::uint64_t begun = system_.ticks();
  if (!trust_.may_write(begun)) return not_ready;
  const std::int64_t result = run_blocking(request);
  trust_.has_written(begun, system_.ticks());
  return result;
}
}  // namespace coracle::detail
