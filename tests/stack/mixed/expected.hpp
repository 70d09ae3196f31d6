// tests/stack/mixed/expected.hpp -- what the two halves know of each other.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/utility/expected.hpp>

coracle::expected<int, long> give();
coracle::task<coracle::expected<int, long>> give_later();
