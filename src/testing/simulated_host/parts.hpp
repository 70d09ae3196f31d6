// src/testing/simulated_host/parts.hpp -- the bytes of vectored requests.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "../../io/system_call.hpp"

namespace coracle::detail::simulated {
/// What the parts of a request have been given to write, put together: the first `most` bytes.
inline std::string gathered(const io_request& request, std::size_t most = std::string::npos) {
  std::string all;
  for (const iovec& each : parts_of(request))
    all.append(static_cast<const char*>(each.iov_base), std::min(each.iov_len, most - all.size()));
  return all;
}
/// Stores `bytes` in the parts of a request, as many as there is room for. Returns their number.
inline std::size_t scatter(const io_request& request, std::string_view bytes) noexcept {
  std::size_t stored = 0;
  for (const iovec& each : parts_of(request)) {
    const std::size_t more = std::min(each.iov_len, bytes.size() - stored);
    if (more != 0) std::memcpy(each.iov_base, bytes.data() + stored, more);
    stored += more;
  }
  return stored;
}
/// Distributes among the parts of a request what `read(to, size)` reads. Returns the result of that.
template <class Read>
std::int64_t read_parts(const io_request& request, Read read) {
  std::string all(total_size(request), '\0');
  const std::int64_t got = read(all.data(), all.size());
  if (got > 0) scatter(request, std::string_view{all}.substr(0, static_cast<std::size_t>(got)));
  return got;
}
}  // namespace coracle::detail::simulated
