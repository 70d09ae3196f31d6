// cppcoro/read_only_file.hpp -- coracle::read_only_file under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/read_only_file.hpp>
#include <cppcoro/readable_file.hpp>

namespace cppcoro {
using coracle::read_only_file;
}  // namespace cppcoro
