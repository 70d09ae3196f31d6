// expect: work is stopped by a stop_token: that of a stop_source is source.get_token()
// tests/compile_fail/with_stop_source.cpp -- who obeys has the token, who asks the source.
// SPDX-License-Identifier: MIT
#include <coracle/core/with_environment.hpp>
#include <stop_token>

coracle::task<> work() { co_return; }

coracle::task<> wrong(coracle::stop_source& source) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await coracle::with_stop(work(), source);
#endif
  co_await coracle::with_stop(work(), source.get_token());
  co_await coracle::stop_when(work(), std::stop_token{});
}
