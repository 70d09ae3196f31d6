// src/net/send_all.hpp -- sends everything, in as many operations as it takes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <cstddef>
#include <span>

namespace coracle::net::detail {
/// As socket::send_all(). Requires: `to` is a connected stream.
coracle::detail::library_task<> send_all(const coracle::detail::io_descriptor& to,
                                         std::span<const std::byte> bytes, stop_token token,
                                         std::size_t* sent);
coracle::detail::library_task<> send_all(const coracle::detail::io_descriptor& to,
                                         std::span<const const_buffer> parts, stop_token token,
                                         std::size_t* sent);
}  // namespace coracle::net::detail
