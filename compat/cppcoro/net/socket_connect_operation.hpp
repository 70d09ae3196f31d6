// cppcoro/net/socket_connect_operation.hpp -- coracle::net::socket_connect_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/detail/socket_operations.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/net/ip_endpoint.hpp>

namespace cppcoro::net {
using coracle::net::socket_connect_operation;
using socket_connect_operation_cancellable = socket_connect_operation;
}  // namespace cppcoro::net
