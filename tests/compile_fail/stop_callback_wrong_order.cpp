// expect: the token comes before the function: stop_callback{token, function}
// tests/compile_fail/stop_callback_wrong_order.cpp -- the function before its token.
// SPDX-License-Identifier: MIT
#include <coracle/core/stop.hpp>

void wrong(coracle::stop_token& token, bool& stopped) {
  const coracle::stop_callback right{token, [&] { stopped = true; }};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::stop_callback swapped{[&] { stopped = true; }, token};
#endif
}
