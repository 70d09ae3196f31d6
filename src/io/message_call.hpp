// src/io/message_call.hpp -- sendmsg and recvmsg, with descriptors.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_request.hpp>
#include <cstdint>

namespace coracle::detail {
// They return what the system call does, and -1 with errno set where it fails.
std::int64_t send_message(io_request& request) noexcept;
std::int64_t receive_message(io_request& request) noexcept;
}  // namespace coracle::detail
