// expect: single_flight::run(key, work) needs a function, which returns an awaitable of the result
// tests/compile_fail/single_flight_task.cpp -- the work is a function, since only one caller's is called.
// SPDX-License-Identifier: MIT
#include <coracle/compose/single_flight.hpp>

coracle::task<int> work() { co_return 1; }

coracle::task<> wrong(coracle::single_flight<int, int>& flights) {
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await flights.run(1, work());
#endif
  co_await flights.run(1, work);
}
