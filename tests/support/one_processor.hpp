// tests/support/one_processor.hpp -- threads that share one processor.
// SPDX-License-Identifier: MIT
#pragma once
#include <sched.h>

#include <cstdlib>

namespace coracle_test {
/// From here on the calling thread, and the threads that it creates, run on one processor.
inline void use_one_processor() {
  const int here = ::sched_getcpu();
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<unsigned>(here), &only);
  if (here < 0 || ::sched_setaffinity(0, sizeof only, &only) != 0) std::abort();
}
}  // namespace coracle_test
