// cppcoro/file_read_operation.hpp -- coracle::file_read_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/readable_file.hpp>
#include <cppcoro/cancellation_registration.hpp>
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro {
using coracle::file_read_operation;
using file_read_operation_cancellable = file_read_operation;
}  // namespace cppcoro
