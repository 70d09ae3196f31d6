// expect: the signals are a list: signal_set{io, {SIGINT, SIGTERM}}
// tests/compile_fail/signal_set_no_list.cpp -- signals that are not in braces.
// SPDX-License-Identifier: MIT
#include <signal.h>

#include <coracle/io/signal_set.hpp>

void wrong(coracle::io_service& io) {
  const coracle::signal_set right{io, {SIGINT}};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::signal_set signals{io, SIGINT, SIGTERM};
#endif
}
