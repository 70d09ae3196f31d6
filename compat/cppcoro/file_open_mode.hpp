// cppcoro/file_open_mode.hpp -- coracle::file_open_mode under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/file_open_mode.hpp>

namespace cppcoro {
using coracle::file_open_mode;
}  // namespace cppcoro
