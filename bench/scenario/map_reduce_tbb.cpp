// bench/scenario/map_reduce_tbb.cpp -- the words of map_reduce.cpp with oneTBB's parallel_reduce.
// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "map_reduce.hpp"
#include "scenario.hpp"
#include "tbb.hpp"

namespace {
using namespace coracle_bench;

void tbb_map_reduce(scenario& run) {
  const auto count = static_cast<std::size_t>(run.times(documents));
  const std::string all = text_of_documents(count);
  word_counts sum;
  const auto count_some = [&](const tbb::blocked_range<std::size_t>& some, word_counts counts) {
    for (std::size_t i = some.begin(); i != some.end(); ++i)
      add(counts, count_words(document(all, i, count)));
    return counts;
  };
  const auto add_both = [](word_counts one, const word_counts& other) {
    add(one, other);
    return one;
  };
  run.measure([&] {
    in_arena(2, [&] {
      sum = tbb::parallel_reduce(tbb::blocked_range<std::size_t>{0, count}, word_counts{}, count_some,
                                 add_both);
    });
  });
  run.expect(total(sum) == static_cast<long>(count * words_of_document), "each word is counted once");
}

CORACLE_GROWING_SCENARIO(tbb_map_reduce);
}  // namespace
