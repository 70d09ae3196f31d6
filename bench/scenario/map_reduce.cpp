// bench/scenario/map_reduce.cpp -- counts the words of a thousand documents on a pool of two threads.
// SPDX-License-Identifier: MIT
#include "map_reduce.hpp"

#include <coracle/coracle.hpp>
#include <vector>

#include "scenario.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;

task<word_counts> count_words_of(std::string_view text) { co_return count_words(text); }

task<word_counts> count_all(coracle::static_thread_pool& pool, std::string_view all, std::size_t count) {
  std::vector<task<word_counts>> parts;
  for (std::size_t i = 0; i != count; ++i) {
    parts.push_back(coracle::schedule_on(count_words_of(document(all, i, count)), pool));
  }
  word_counts sum;
  const auto add_part = [&sum](word_counts part) { add(sum, part); };
  co_await coracle::as_completed(std::move(parts), add_part);
  co_return sum;
}
void map_reduce(scenario& run) {
  coracle::static_thread_pool pool{2};
  const auto count = static_cast<std::size_t>(run.times(documents));
  const std::string all = text_of_documents(count);
  word_counts sum;
  run.measure([&] { sum = coracle::sync_wait(coracle::schedule_on(count_all(pool, all, count), pool)); });
  run.expect(total(sum) == static_cast<long>(count * words_of_document), "each word is counted once");
}
void loop_map_reduce(scenario& run) {
  const auto count = static_cast<std::size_t>(run.times(documents));
  const std::string all = text_of_documents(count);
  word_counts sum;
  run.measure([&] {
    for (std::size_t i = 0; i != count; ++i) add(sum, count_words(document(all, i, count)));
  });
  run.expect(total(sum) == static_cast<long>(count * words_of_document), "each word is counted once");
}

CORACLE_GROWING_SCENARIO(map_reduce);
CORACLE_GROWING_SCENARIO(loop_map_reduce);
}  // namespace
