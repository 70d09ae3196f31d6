// tests/unit/allocation_counter.cpp -- makes the test program count its allocations.
// SPDX-License-Identifier: MIT
#include <coracle/testing/allocations.hpp>

CORACLE_COUNT_ALLOCATIONS();
