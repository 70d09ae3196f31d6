// cppcoro/net/ip_endpoint.hpp -- coracle::net::ip_endpoint under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ip_endpoint.hpp>
#include <cppcoro/net/ip_address.hpp>
#include <cppcoro/net/ipv4_endpoint.hpp>
#include <cppcoro/net/ipv6_endpoint.hpp>

namespace cppcoro::net {
using coracle::net::ip_endpoint;
}
