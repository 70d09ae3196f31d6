// bench/scenario/merge.cpp -- merges sixteen sorted sequences, fetched page by page, on two threads.
// SPDX-License-Identifier: MIT
#include "merge.hpp"

#include <coracle/coracle.hpp>
#include <functional>
#include <queue>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::static_thread_pool;
using coracle::task;
using namespace coracle_bench;

/// The current element of a source; the smallest comes first.
struct head {
  std::uint64_t element;
  std::size_t source;
  friend bool operator>(const head& a, const head& b) noexcept { return a.element > b.element; }
};
using heads = std::priority_queue<head, std::vector<head>, std::greater<>>;

coracle::async_generator<const std::uint64_t> read(static_thread_pool& pool, int source, long n) {
  for (long i = 0; i != n; ++i) {
    if (i % elements_of_page == 0) co_await pool.schedule();  // simulates fetching a page
    co_yield element_of(source, i);
  }
}
task<merged> merge(static_thread_pool& pool, long n) {
  std::vector<coracle::async_generator<const std::uint64_t>> sources;
  for (int i = 0; i != sorted_sources; ++i) sources.push_back(read(pool, i, n));
  heads next;
  for (std::size_t i = 0; i != sources.size(); ++i) {
    if (const auto* first = co_await sources[i].next()) next.push(head{*first, i});
  }
  merged all;
  while (!next.empty()) {
    const auto [element, source] = next.top();
    next.pop();
    all.add(element);
    if (const auto* following = co_await sources[source].next()) next.push(head{*following, source});
  }
  co_return all;
}
void merge_of_streams(scenario& run) {
  static_thread_pool pool{2};
  merged all;
  run.measure([&] {
    all = coracle::sync_wait(coracle::schedule_on(merge(pool, run.times(elements_of_source)), pool));
  });
  run.expect(all.in_order && all.sum == sum_of_sources(run.times(elements_of_source)),
             "all elements in order");
}
/// The same without waiting: all pages are in memory.
void loop_merge_of_streams(scenario& run) {
  merged all;
  run.measure([&] {
    const long n = run.times(elements_of_source);
    std::vector<long> at(sorted_sources, 0);
    heads next;
    for (int i = 0; i != sorted_sources; ++i) next.push(head{element_of(i, 0), static_cast<std::size_t>(i)});
    while (!next.empty()) {
      const auto [element, source] = next.top();
      next.pop();
      all.add(element);
      if (++at[source] != n) next.push(head{element_of(static_cast<int>(source), at[source]), source});
    }
  });
  run.expect(all.in_order && all.sum == sum_of_sources(run.times(elements_of_source)),
             "all elements in order");
}

CORACLE_GROWING_SCENARIO(merge_of_streams);
CORACLE_GROWING_SCENARIO(loop_merge_of_streams);
}  // namespace
