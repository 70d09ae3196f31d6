// cppcoro/file_write_operation.hpp -- coracle::file_write_operation under its old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/writable_file.hpp>
#include <cppcoro/cancellation_registration.hpp>
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro {
using coracle::file_write_operation;
using file_write_operation_cancellable = file_write_operation;
}  // namespace cppcoro
