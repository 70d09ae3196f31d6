// cppcoro/net/ipv6_endpoint.hpp -- coracle::net::ipv6_endpoint under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ipv6_endpoint.hpp>
#include <cppcoro/net/ipv6_address.hpp>

namespace cppcoro::net {
using coracle::net::ipv6_endpoint;
}
