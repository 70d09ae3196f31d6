// cppcoro/file_share_mode.hpp -- coracle::file_share_mode under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/file_share_mode.hpp>

namespace cppcoro {
using coracle::file_share_mode;
}  // namespace cppcoro
