// cppcoro/read_write_file.hpp -- coracle::read_write_file under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/read_write_file.hpp>
#include <cppcoro/readable_file.hpp>
#include <cppcoro/writable_file.hpp>

namespace cppcoro {
using coracle::read_write_file;
}  // namespace cppcoro
