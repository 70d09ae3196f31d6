// cppcoro/file.hpp -- coracle::file under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/file.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/file_buffering_mode.hpp>
#include <cppcoro/file_open_mode.hpp>
#include <cppcoro/file_share_mode.hpp>
#include <cppcoro/filesystem.hpp>

namespace cppcoro {
using coracle::file;
}  // namespace cppcoro
