// bench/scenario/dag_tbb.cpp -- the grid of dag.cpp with oneTBB's flow graph.
// SPDX-License-Identifier: MIT
#include <tbb/flow_graph.h>

#include <deque>

#include "dag.hpp"
#include "scenario.hpp"
#include "tbb.hpp"

namespace {
using namespace coracle_bench;

constexpr auto columns = static_cast<std::size_t>(columns_of_dag);

void tbb_dag_of_tasks(scenario& run) {
  const auto rows = static_cast<std::size_t>(run.times(rows_of_dag));
  std::vector<std::uint64_t> results(rows * columns);
  run.measure([&] {
    in_arena(2, [&] {
      using tbb::flow::continue_msg;
      tbb::flow::graph graph;
      std::deque<tbb::flow::continue_node<continue_msg>> nodes;
      for (std::size_t i = 0; i != rows * columns; ++i) {
        nodes.emplace_back(graph, [&results, i](const continue_msg& message) {
          const std::uint64_t above = i < columns ? 1 : results[i - columns];
          const std::uint64_t left = i % columns == 0 ? 1 : results[i - 1];
          results[i] = piece(above, left);
          return message;
        });
        if (i >= columns) tbb::flow::make_edge(nodes[i - columns], nodes[i]);
        if (i % columns != 0) tbb::flow::make_edge(nodes[i - 1], nodes[i]);
      }
      nodes.front().try_put(continue_msg{});
      graph.wait_for_all();
    });
  });
  run.expect(results.back() == last_piece(run.times(rows_of_dag)), "what a loop computes");
}

CORACLE_GROWING_SCENARIO(tbb_dag_of_tasks);
}  // namespace
