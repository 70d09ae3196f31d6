// bench/scenario/tls.hpp -- how much is encrypted, and the certificate; shared with the rival.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "../../tests/support/tls_identity.hpp"

namespace coracle_bench {
using coracle_test::test_authority;
using coracle_test::test_server;

constexpr int tls_trips = 50'000, tls_connections = 500;
constexpr std::size_t tls_message = 64, tls_piece = 64 * 1024;
constexpr int tls_pieces = 8'192;  // 512 MiB
}  // namespace coracle_bench
