// src/io/opcode_name.hpp -- the names of operations, for metrics and for the trace of a simulation.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/detail/io_request.hpp>

namespace coracle::detail {
[[nodiscard]] const char* name_of(io_opcode opcode) noexcept;
}  // namespace coracle::detail
