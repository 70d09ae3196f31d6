// expect: deleted
// tests/compile_fail/copied_channel.cpp -- a copy of a channel.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>

coracle::channel<int> numbers{1};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::channel<int> wrong = numbers;
#endif
