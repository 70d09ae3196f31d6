// cppcoro/writable_file.hpp -- coracle::writable_file under its old name.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/writable_file.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/file.hpp>
#include <cppcoro/file_write_operation.hpp>

namespace cppcoro {
using coracle::writable_file;
}  // namespace cppcoro
