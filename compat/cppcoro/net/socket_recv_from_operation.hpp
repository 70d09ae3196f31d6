// cppcoro/net/socket_recv_from_operation.hpp -- coracle::net::socket_recv_from_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/detail/socket_operations.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/net/ip_endpoint.hpp>

namespace cppcoro::net {
using coracle::net::socket_recv_from_operation;
using socket_recv_from_operation_cancellable = socket_recv_from_operation;
}  // namespace cppcoro::net
