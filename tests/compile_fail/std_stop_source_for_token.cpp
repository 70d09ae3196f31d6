// expect: pass the token of the source: source.get_token()
// tests/compile_fail/std_stop_source_for_token.cpp -- a standard source where an operation takes a token.
// SPDX-License-Identifier: MIT
#include <coracle/core/stop.hpp>
#include <coracle/io/signal_set.hpp>
#include <stop_token>

void wrong(coracle::signal_set& signals, std::stop_source& source) {
  static_cast<void>(signals.wait(source.get_token()));
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  static_cast<void>(signals.wait(source));
#endif
}
