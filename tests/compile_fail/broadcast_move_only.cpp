// expect: each subscriber of a broadcast<T> gets a copy
// tests/compile_fail/broadcast_move_only.cpp -- a broadcast of what cannot be copied.
// SPDX-License-Identifier: MIT
#include <coracle/channels/broadcast.hpp>
#include <memory>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
void wrong() { coracle::broadcast<std::unique_ptr<int>> values{1}; }
#endif
