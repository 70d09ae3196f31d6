// cppcoro/net/ipv4_address.hpp -- coracle::net::ipv4_address under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ipv4_address.hpp>

namespace cppcoro::net {
using coracle::net::ipv4_address;
}
