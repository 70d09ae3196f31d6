// src/io/status_of.hpp -- the status of a file, from the result of statx(2).
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/stat.h>

#include <coracle/io/file_status.hpp>

namespace coracle::detail {
[[nodiscard]] std::filesystem::file_type type_of(unsigned mode) noexcept;
[[nodiscard]] file_status status_of(const struct statx& its) noexcept;
}  // namespace coracle::detail
