// cppcoro/net/socket_send_operation.hpp -- coracle::net::socket_send_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/detail/socket_operations.hpp>
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro::net {
using coracle::net::socket_send_operation;
using socket_send_operation_cancellable = socket_send_operation;
}  // namespace cppcoro::net
