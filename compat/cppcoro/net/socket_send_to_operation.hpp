// cppcoro/net/socket_send_to_operation.hpp -- coracle::net::socket_send_to_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/detail/socket_operations.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/net/ip_endpoint.hpp>

namespace cppcoro::net {
using coracle::net::socket_send_to_operation;
using socket_send_to_operation_cancellable = socket_send_to_operation;
}  // namespace cppcoro::net
