// cppcoro/net/ipv4_endpoint.hpp -- coracle::net::ipv4_endpoint under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ipv4_endpoint.hpp>
#include <cppcoro/net/ipv4_address.hpp>

namespace cppcoro::net {
using coracle::net::ipv4_endpoint;
}
