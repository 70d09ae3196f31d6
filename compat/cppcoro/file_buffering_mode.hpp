// cppcoro/file_buffering_mode.hpp -- coracle::file_buffering_mode under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/file_buffering_mode.hpp>

namespace cppcoro {
using coracle::file_buffering_mode;
}  // namespace cppcoro
