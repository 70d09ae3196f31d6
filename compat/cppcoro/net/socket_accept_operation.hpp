// cppcoro/net/socket_accept_operation.hpp -- coracle::net::socket_accept_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/detail/socket_operations.hpp>
#include <cppcoro/cancellation_registration.hpp>
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro::net {
using coracle::net::socket_accept_operation;
using socket_accept_operation_cancellable = socket_accept_operation;
}  // namespace cppcoro::net
