// expect: and std::monostate as a plain signal
// tests/compile_fail/channel_of_void.cpp -- a channel of nothing.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
void wrong() { coracle::channel<void> ch{1}; }
#endif
