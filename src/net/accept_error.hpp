// src/net/accept_error.hpp -- what the error of an accept() says.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <cstdint>

namespace coracle::net::detail {
/// `result` is that of the operation. Linux does not tell a socket that never listened from a listener that
/// was shut down.
[[nodiscard]] inline const char* accept_error(std::int64_t result) noexcept {
  return result == -EINVAL ? "cannot accept a connection without listen(), or after close_recv()"
                           : "cannot accept a connection";
}
}  // namespace coracle::net::detail
