// tests/fuzz/timers.cpp -- timer_wheel and timer_queue against a list that is sorted.
// SPDX-License-Identifier: MIT
#include <coracle/time/detail/timer_queue.hpp>
#include <map>
#include <memory>
#include <vector>

#include "fuzz.hpp"

namespace {
using coracle::timer_service;
using coracle::detail::timer;
using coracle::detail::timer_node;
using coracle_test::fuzz_input;
using coracle_test::must;
using sorted = std::multimap<std::uint64_t, timer_node*>;

/// A moment near `now`, or far from it, before or after.
std::uint64_t moment(fuzz_input& input, std::uint64_t now) {
  const std::uint64_t by = input.number();
  return input.below(4) == 0 ? now - by : now + by;
}
sorted::iterator pick(fuzz_input& input, sorted& all) {
  auto picked = all.begin();
  for (auto steps = input.below(256) % all.size(); steps != 0; --steps) ++picked;
  return picked;
}

void check_wheel(fuzz_input input) {
  std::uint64_t now = input.number();
  coracle::detail::timer_wheel wheel{now};
  std::vector<std::unique_ptr<timer_node>> nodes;
  sorted expected;
  bool removed = false;  // since it was empty: next() may then be too early
  while (!input.empty()) {
    switch (input.below(4)) {
      case 0:
      case 1: {
        nodes.push_back(std::make_unique<timer_node>());
        const std::uint64_t deadline = moment(input, now);
        wheel.insert(*nodes.back(), deadline);
        expected.emplace(deadline < now ? now : deadline, nodes.back().get());
        break;
      }
      case 2:
        if (expected.empty()) break;
        if (const auto gone = pick(input, expected); true) {
          wheel.remove(static_cast<timer_node&>(*gone->second));
          expected.erase(gone);
          removed = true;
        }
        break;
      default: {
        const std::uint64_t then = moment(input, now);
        while (timer_node* const due = wheel.pop_due(then)) {
          must(!expected.empty() && expected.begin()->second == due, "due, and not the first");
          must(expected.begin()->first <= then, "due before its deadline");
          expected.erase(expected.begin());
        }
        must(expected.empty() || expected.begin()->first > then, "not due after its deadline");
        if (then > now) now = then;
      }
    }
    must(wheel.empty() == expected.empty(), "empty, or not");
    must(wheel.now() == now, "the wheel's time");
    if (expected.empty()) removed = false;
    const std::uint64_t first = expected.empty() ? wheel.never : expected.begin()->first;
    must(removed || expected.empty() ? wheel.next() <= first : wheel.next() == first, "the next deadline");
  }
}

void ignore(timer&) noexcept {}

/// add() and remove() in any order, also of what is gone.
void check_queue(fuzz_input input) {
  using time_point = timer_service::time_point;
  const auto at = [](std::uint64_t units) {
    return time_point{time_point::duration{static_cast<std::int64_t>(units >> 1)}};
  };
  enum class stage { fresh, waits, over };
  struct followed : timer {
    followed() noexcept : timer(&ignore) {}
    stage where = stage::fresh;
  };
  std::uint64_t now = 0;
  coracle::detail::timer_queue queue{at(now)};
  std::vector<followed> timers(8);
  const auto some = [&]() -> followed& { return timers[input.below(8)]; };
  while (!input.empty()) {
    followed& one = some();
    switch (input.below(3)) {
      case 0:
        if (one.where == stage::waits || one.progress == timer::state::fired) break;  // added only once
        must(queue.add(one, at(now + input.number())) == (one.where == stage::fresh), "add()");
        if (one.where == stage::fresh) one.where = stage::waits;
        break;
      case 1:
        must(queue.remove(one) == (one.where == stage::waits), "remove()");
        one.where = stage::over;
        break;
      default:
        now += input.number() >> 2;
        if (now >> 62 != 0) return;  // the clock ends
        while (timer* const due = queue.pop_due(at(now))) {
          auto& found = static_cast<followed&>(*due);
          must(found.where == stage::waits, "fired, and did not wait");
          found.where = stage::over;
        }
        must(queue.empty() || queue.next() >= at(now), "the next deadline is past");
    }
    bool waits = false;
    for (const followed& each : timers) waits = waits || each.where == stage::waits;
    must(queue.empty() == !waits, "empty, or not");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_wheel({data, size});
  check_queue({data, size});
  return 0;
}
