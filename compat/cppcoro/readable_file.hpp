// cppcoro/readable_file.hpp -- coracle::readable_file under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/readable_file.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/file.hpp>
#include <cppcoro/file_read_operation.hpp>

namespace cppcoro {
using coracle::readable_file;
}  // namespace cppcoro
