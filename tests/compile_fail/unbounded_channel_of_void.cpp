// expect: and std::monostate as a plain signal
// tests/compile_fail/unbounded_channel_of_void.cpp -- an unbounded channel of nothing.
// SPDX-License-Identifier: MIT
#include <coracle/channels/unbounded_channel.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
void wrong() { coracle::unbounded_channel<void> ch; }
#endif
