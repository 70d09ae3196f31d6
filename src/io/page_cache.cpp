// SPDX-License-Identifier: MIT
#include "page_cache.hpp"

#include "system_call.hpp"

namespace coracle::detail {
namespace {
/// In bytes; copying this many takes about 100 us.
constexpr std::size_t max_size = std::size_t{1} << 20;
}  // namespace

std::int64_t page_cache::attempt(io_request& request, io_descriptor_kind kind) noexcept {
  if (request.size > max_size) return not_ready;
  if (request.opcode == io_opcode::read_at && kind != io_descriptor_kind::uncached_file)
    return read_cached(request);
  if (request.opcode != io_opcode::write_at || kind != io_descriptor_kind::file) return not_ready;
  const std::uint64_t begun = system_.ticks();
  if (!trust_.may_write(begun)) return not_ready;
  const std::int64_t result = run_blocking(request);
  trust_.has_written(begun, system_.ticks());
  return result;
}
}  // namespace coracle::detail
