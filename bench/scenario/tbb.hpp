// bench/scenario/tbb.hpp -- oneTBB's threads, as many as the scenario's pool has.
// SPDX-License-Identifier: MIT
#pragma once
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace coracle_bench {
/// Runs `work` in an arena of the given number of threads, including the calling one.
template <class Work>
void in_arena(int threads, Work&& work) {
  const tbb::global_control limit{tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads)};
  tbb::task_arena{threads}.execute(work);
}
}  // namespace coracle_bench
