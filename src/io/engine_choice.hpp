// src/io/engine_choice.hpp -- io_uring or epoll.
// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "io_backend.hpp"

namespace coracle::detail {
/// The backend that CORACLE_IO asks for, or the best that the system has. Throws std::system_error if it asks for one that there is
/// not, std::bad_alloc.
[[nodiscard]] std::unique_ptr<io_backend> chosen_backend(io_loop& loop);
}  // namespace coracle::detail
