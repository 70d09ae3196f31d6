// tests/probes/no_co_return.cpp -- does an optimised build with checks name a coroutine that runs off its
// end?
// SPDX-License-Identifier: MIT
#undef CORACLE_ENABLE_CHECKS
#define CORACLE_ENABLE_CHECKS 1
#include "../support/no_co_return.hpp"

int main() { return coracle_test::wrong_ends() == 0 ? 0 : 1; }
