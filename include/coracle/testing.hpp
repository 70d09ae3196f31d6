// coracle/testing.hpp -- what tests of asynchronous code need, but for simulated I/O and the model checker.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/failing_allocator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/manual_scheduler.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/testing/simulation/simulate.hpp>
#include <coracle/testing/simulation/simulated_loop.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/testing/virtual_clock.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
