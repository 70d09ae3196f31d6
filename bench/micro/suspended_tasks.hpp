// bench/micro/suspended_tasks.hpp -- what a million suspended tasks occupy.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle_bench {
/// Resident bytes for each of a million tasks that wait for one event, with its entry in the vector that
/// when_all holds. Meaningful only in a process that has freed no memory before.
double bytes_per_suspended_task();
}  // namespace coracle_bench
