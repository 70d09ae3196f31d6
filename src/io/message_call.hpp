// src/io/message_call.hpp -- sendmsg and recvmsg, with descriptors.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_request.hpp>
#include <cstdint>

namespace coracle::detail {
// Both return the result of the system call, or -1 with errno set if it fails.
std::int64_t send_message(io_request& request) noexcept;
std::int64_t receive_message(io_request& request) noexcept;
}  // namespace coracle::detail
