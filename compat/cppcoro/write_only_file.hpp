// cppcoro/write_only_file.hpp -- coracle::write_only_file under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/write_only_file.hpp>
#include <cppcoro/writable_file.hpp>

namespace cppcoro {
using coracle::write_only_file;
}  // namespace cppcoro
