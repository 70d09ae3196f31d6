// cppcoro/net/socket_disconnect_operation.hpp -- what socket::disconnect() returns, under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro::net {
using socket_disconnect_operation = coracle::task<>;
using socket_disconnect_operation_cancellable = socket_disconnect_operation;
}  // namespace cppcoro::net
