// tests/fuzz/generators.cpp -- generators that are nested as the input says, against the flat sequence.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/generators/recursive_generator.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <coracle/testing/poll.hpp>
#include <vector>

#include "fuzz.hpp"

namespace {
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::fuzz_input;
using coracle_test::must;

struct thrown {};

/// What a generator does: yield an element, or those of another, or fail there. `failing` is its last step.
struct tree {
  std::vector<tree> steps;
  int element = -1;       // of a leaf
  bool failing = false;   // throws behind its steps
  bool catching = false;  // goes on when a step throws
};
tree grow(fuzz_input& input, int& elements, unsigned depth) {
  tree made;
  for (unsigned steps = input.below(5); steps != 0 && elements < 200; --steps) {
    if (depth == 6 || input.below(3) != 0) {
      made.steps.emplace_back();
      made.steps.back().element = elements++;
    } else {
      made.steps.push_back(grow(input, elements, depth + 1));
    }
  }
  made.failing = input.below(6) == 0;
  made.catching = input.below(3) == 0;
  return made;
}

/// False: it throws at its end.
bool flatten(const tree& from, std::vector<int>& into) {
  for (const tree& step : from.steps) {
    if (step.element >= 0) {
      into.push_back(step.element);
    } else if (!flatten(step, into) && !from.catching) {
      return false;
    }
  }
  return !from.failing;
}

template <class Generator>
Generator walk(const tree& over, lifetime_probe probe) {
  for (const tree& step : over.steps) {
    if (step.element >= 0) {
      co_yield step.element;
    } else {
      try {
        if constexpr (requires { coracle::elements_of(walk<Generator>(step, probe)); } &&
                      std::is_same_v<Generator, coracle::generator<const int&>>) {
          co_yield coracle::elements_of(walk<Generator>(step, probe));
        } else {
          co_yield walk<Generator>(step, probe);
        }
      } catch (const thrown&) {
        if (!over.catching) throw;
      }
    }
  }
  if (over.failing) throw thrown{};
}

coracle::async_generator<int> walk_async(const tree& over, lifetime_probe probe) {
  std::vector<int> flat;
  const bool ends = flatten(over, flat);
  for (const int each : flat) {
    if (each % 3 == 0) co_await coracle::this_task::yield();
    co_yield each;
  }
  if (!ends) throw thrown{};
}

/// Takes at most `most` elements, then leaves.
template <class Generator>
std::vector<int> take(Generator from, std::size_t most, bool& threw) {
  std::vector<int> taken;
  try {
    for (const int each : from) {
      if (taken.size() == most) break;
      taken.push_back(each);
    }
  } catch (const thrown&) {
    threw = true;
  }
  return taken;
}
coracle::task<std::vector<int>> take_async(coracle::async_generator<int> from, std::size_t most,
                                           bool& threw) {
  std::vector<int> taken;
  try {
    while (const int* const each = co_await from.next()) {
      if (taken.size() == most) break;
      taken.push_back(*each);
    }
  } catch (const thrown&) {
    threw = true;
  }
  co_return taken;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input input{data, size};
  const std::size_t most = input.byte();
  int elements = 0;
  const tree root = grow(input, elements, 0);
  std::vector<int> expected;
  bool throws = !flatten(root, expected);
  if (expected.size() > most) {
    expected.resize(most);
    throws = false;
  }
  const auto check = [&](const std::vector<int>& taken, bool threw, const char* what) {
    must(taken == expected && threw == throws, what);
  };
  lifetimes log;
  bool threw = false;
  check(take(walk<coracle::generator<const int&>>(root, lifetime_probe{log}), most, threw), threw,
        "generator");
  must(log.alive == 0, "generator: a frame is left");
  threw = false;
  check(take(walk<coracle::recursive_generator<const int>>(root, lifetime_probe{log}), most, threw), threw,
        "recursive_generator");
  must(log.alive == 0, "recursive_generator: a frame is left");
  threw = false;
  auto polled = coracle::testing::poll(take_async(walk_async(root, lifetime_probe{log}), most, threw));
  must(polled.run(), "async_generator: it waits for ever");
  check(polled.get(), threw, "async_generator");
  return 0;
}
