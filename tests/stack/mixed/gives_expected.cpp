// tests/stack/mixed/gives_expected.cpp -- half of a program of two language levels: what its other half
// awaits and calls.
// SPDX-License-Identifier: MIT
#include "expected.hpp"

coracle::expected<int, long> give() { return 7; }
coracle::task<coracle::expected<int, long>> give_later() { co_return coracle::unexpected<long>(8); }
