// tests/unit/allocation_counter.cpp -- has the test program count its allocations.
// SPDX-License-Identifier: MIT
#include <coracle/testing/allocations.hpp>

CORACLE_COUNT_ALLOCATIONS();
