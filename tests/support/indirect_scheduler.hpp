// tests/support/indirect_scheduler.hpp -- a scheduler that is no executor itself.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/exec/run_loop.hpp>

namespace coracle_test {
struct indirect_scheduler {
  coracle::run_loop& loop;
  auto schedule() const noexcept { return loop.schedule(); }
};
}  // namespace coracle_test
