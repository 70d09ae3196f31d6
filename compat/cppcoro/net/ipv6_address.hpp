// cppcoro/net/ipv6_address.hpp -- coracle::net::ipv6_address under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ipv6_address.hpp>

namespace cppcoro::net {
using coracle::net::ipv6_address;
}
