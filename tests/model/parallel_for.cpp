// tests/model/parallel_for.cpp -- the numbers that workers share: each is taken once.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/exec/parallel_for.hpp>

#include "framework/model_test.hpp"

namespace {
using coracle::detail::untaken_numbers;
using namespace coracle_test;

template <unsigned Threads>
void all_take() {
  untaken_numbers all{5, Threads};
  std::array<std::array<int, 5>, Threads> taken{};
  together(Threads, [&](unsigned worker) {
    while (!all.none_left()) {
      const auto mine = all.take(2);
      for (std::size_t i = mine.begin; i != mine.end; ++i) ++taken[worker][i];
    }
  });
  model_expect(all.none_left(), "in the end none is left");
  for (std::size_t i = 0; i != 5; ++i) {
    int times = 0;
    for (const auto& each : taken) times += each[i];
    model_expect(times == 1, "each number is taken once");
  }
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("parallel_for: two take all", model_test::all, all_take<2>);
  run.check("parallel_for: three take all", 3, all_take<3>);
  return run.finish();
}
