// cppcoro/net/socket.hpp -- coracle::net::socket under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/socket.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/net/ip_endpoint.hpp>
#include <cppcoro/net/socket_accept_operation.hpp>
#include <cppcoro/net/socket_connect_operation.hpp>
#include <cppcoro/net/socket_disconnect_operation.hpp>
#include <cppcoro/net/socket_recv_from_operation.hpp>
#include <cppcoro/net/socket_recv_operation.hpp>
#include <cppcoro/net/socket_send_operation.hpp>
#include <cppcoro/net/socket_send_to_operation.hpp>

namespace cppcoro::net {
using coracle::net::socket;
}  // namespace cppcoro::net
