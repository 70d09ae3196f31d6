// expect: single_flight copies the result to each caller: make it a std::shared_ptr
// tests/compile_fail/single_flight_move_only.cpp -- a result that only one caller could have.
// SPDX-License-Identifier: MIT
#include <coracle/compose/single_flight.hpp>
#include <memory>

coracle::single_flight<int, std::shared_ptr<int>> right;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::single_flight<int, std::unique_ptr<int>> wrong;
#endif
