// src/io/engine_choice.hpp -- chooses between io_uring and epoll.
// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "io_backend.hpp"

namespace coracle::detail {
/// Returns the backend that the environment variable CORACLE_IO requests, or the best one that the system
/// supports. Throws std::bad_alloc, and std::system_error if the requested backend is not available.
[[nodiscard]] std::unique_ptr<io_backend> chosen_backend(io_loop& loop);
}  // namespace coracle::detail
