// expect: a channel carries objects that are moved and destroyed without throwing, and are aligned to 16 bytes at most: send a pointer or a std::unique_ptr to this type instead
// tests/compile_fail/channel_of_reference.cpp -- a channel of references.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
void wrong() { coracle::channel<int&> ch{1}; }
#endif
