// cppcoro/net/ip_address.hpp -- coracle::net::ip_address under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ip_address.hpp>
#include <cppcoro/net/ipv4_address.hpp>
#include <cppcoro/net/ipv6_address.hpp>

namespace cppcoro::net {
using coracle::net::ip_address;
}
