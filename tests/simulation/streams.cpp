// tests/simulation/streams.cpp -- pipelines keep the order of elements, and join all work that runs ahead.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/streams/time.hpp>
#include <coracle/time/timeout.hpp>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;
namespace streams = coracle::streams;

/// The number of live sources and elements.
struct census {
  int sources = 0, elements = 0;
};
struct counted {
  explicit counted(int& its_count) : count(its_count) { ++count; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --count; }
  int& count;
};

coracle::async_generator<int> numbers(world& w, census& alive, int first, int count) {
  const counted mine{alive.sources};
  for (int i = first; i != first + count; ++i) {
    co_await w.pause();
    co_yield i;
  }
}

/// Up to n concurrently: results and errors are delivered in order, and the remaining work is joined.
void buffered(coracle_test::simulation& sim) {
  world w{sim};
  census alive;
  int most_at_once = 0;
  const int count = 8, failing = w.one_in(2) ? static_cast<int>(w.below(8)) : -1;
  const unsigned limit = 1 + w.below(4);
  std::vector<int> seen;
  const auto fetch = [&](int number) -> task<int> {
    const counted mine{alive.elements};
    most_at_once = std::max(most_at_once, alive.elements);
    co_await w.pause();
    co_await w.pause();
    if (number == failing) throw scenario_error(number);
    co_return number;
  };
  const auto note = [&](int number) -> task<> {
    seen.push_back(number);
    co_await w.pause();
  };
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    try {
      co_await coracle::with_stop(numbers(w, alive, 0, count) | streams::map(fetch) |
                                      streams::buffered(limit) | streams::for_each(note),
                                  token);
      w.expect(failing < 0 && static_cast<int>(seen.size()) == count, "all elements have come");
    } catch (const scenario_error& error) {
      w.expect(error.number == failing && static_cast<int>(seen.size()) == failing,
               "an error comes in its turn");
    } catch (const coracle::operation_cancelled&) {
      w.expect(token.stop_requested(), "who is cancelled was asked to stop");
    }
    w.expect(alive.sources == 0 && alive.elements == 0, "source and elements have ended");
  };
  sim.run(coracle::schedule_on(all(), w.place()));
  w.expect(most_at_once <= static_cast<int>(limit), "no more at once than allowed");
  for (std::size_t i = 0; i != seen.size(); ++i) w.expect(seen[i] == static_cast<int>(i), "in order");
}

/// Merges several sources: all elements are delivered, those of each source in order.
void merged(coracle_test::simulation& sim) {
  world w{sim};
  census alive;
  std::vector<int> seen;
  const auto note = [&](int number) -> task<> {
    seen.push_back(number);
    co_await w.pause();
  };
  const bool cut = w.one_in(3);
  const unsigned most = 1 + w.below(10);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    auto source =
        streams::merge(numbers(w, alive, 0, 5), numbers(w, alive, 100, 5), numbers(w, alive, 200, 5));
    try {
      if (cut) {
        co_await coracle::with_stop(std::move(source) | streams::take(most) | streams::for_each(note), token);
        w.expect(seen.size() == most, "so many as were asked for");
      } else {
        co_await coracle::with_stop(std::move(source) | streams::for_each(note), token);
        w.expect(seen.size() == 15, "all elements have come");
      }
    } catch (const coracle::operation_cancelled&) {
      w.expect(token.stop_requested(), "who is cancelled was asked to stop");
    }
    w.expect(alive.sources == 0, "the sources have ended");
  };
  sim.run(coracle::schedule_on(all(), w.place()));
  for (const int first : {0, 100, 200}) {
    int next = first;
    for (const int each : seen) {
      if (each / 100 == first / 100) w.expect(each == next++, "the elements of a source keep their order");
    }
  }
}

/// A time limit for each element: it fires only if the source takes longer, and the source is joined.
void with_limit(coracle_test::simulation& sim) {
  world w{sim};
  census alive;
  int seen = 0;
  const auto note = [&](int) { ++seen; };
  const auto all = [&]() -> task<> {
    try {
      co_await (numbers(w, alive, 0, 6) | streams::timeout_each(4us) | streams::for_each(note));
      w.expect(seen == 6, "all elements have come");
    } catch (const coracle::timed_out&) {
      w.expect(seen < 6, "not after the last element");
    }
    w.expect(alive.sources == 0, "the source has ended");
  };
  sim.run(coracle::schedule_on(all(), w.place()));
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"stream: buffered", buffered, {.stalls = true}},
                                          {"stream: merge", merged, {.stalls = true}},
                                          {"stream: timeout", with_limit}});
}
