// src/net/whole_transfers.hpp -- send or receive everything, in as many operations as it takes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace coracle::net::detail {
// As the members of socket. Requires: the descriptor is a connected stream.

coracle::detail::library_task<> send_all(const coracle::detail::io_descriptor& to,
                                         std::span<const std::byte> bytes, stop_token token,
                                         std::size_t* sent);
coracle::detail::library_task<> send_all(const coracle::detail::io_descriptor& to,
                                         std::span<const const_buffer> parts, stop_token token,
                                         std::size_t* sent);
coracle::detail::library_task<std::size_t> recv_exactly(const coracle::detail::io_descriptor& from,
                                                        std::span<std::byte> to, stop_token token,
                                                        std::size_t* received);
coracle::detail::library_task<std::size_t> recv_until(const coracle::detail::io_descriptor& from,
                                                      std::string& received, std::string_view delimiter,
                                                      std::size_t limit, stop_token token);
}  // namespace coracle::net::detail
