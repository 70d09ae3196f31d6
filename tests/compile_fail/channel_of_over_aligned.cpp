// expect: a channel carries objects that are moved and destroyed without throwing, and are aligned to 16 bytes at most: send a pointer or a std::unique_ptr to this type instead
// tests/compile_fail/channel_of_over_aligned.cpp -- an element that frames of g++ 12 would misalign.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>

struct alignas(64) line {
  char bytes[64];
};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
void wrong() { coracle::channel<line> ch{1}; }
#endif
