// tests/unit/async_sources.hpp -- async_generators that a test reads, and the elements they yielded.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace coracle_test::async_sources {
using ints = std::vector<int>;

inline coracle::async_generator<int> counting(int from, int to) {
  for (int i = from; i != to; ++i) co_yield i;
}
/// Counts the requested elements.
inline coracle::async_generator<int> counting_asked(int& asked) {
  for (int i = 0;; ++i) {
    ++asked;
    co_yield i;
  }
}
inline coracle::async_generator<int> failing_after(int last) {
  for (int i = 0; i != last; ++i) co_yield i;
  throw std::runtime_error("the source fails");
}

template <class T>
coracle::task<ints> elements(coracle::async_generator<T> source) {
  ints seen;
  while (auto* element = co_await source.next()) seen.push_back(static_cast<int>(*element));
  co_return seen;
}
template <class T>
ints all(coracle::async_generator<T> source) {
  return coracle::sync_wait(elements(std::move(source)));
}
}  // namespace coracle_test::async_sources
