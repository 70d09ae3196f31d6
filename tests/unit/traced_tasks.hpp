// tests/unit/traced_tasks.hpp -- tasks whose turns are recorded, and what a trace says of them.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/poll.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace coracle_test {
/// A slice of a trace: each is a line of the JSON.
struct trace_slice {
  std::string name, task, before;
  int process = 0;
  long track = 0;
  double begin = 0, end = 0;
};
/// Returns the value after the key, up to the next quote or comma.
inline std::string trace_value(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return {};
  std::size_t begin = at + key.size() + 3;
  const bool is_text = line[begin] == '"';
  begin += is_text;
  return line.substr(begin, line.find_first_of(is_text ? "\"" : ",}", begin) - begin);
}
/// Returns the text without the namespaces of tests, which depend on what is compiled together.
inline std::string without_unit(std::string text) {
  const std::string end = "_test::";
  for (std::size_t at; (at = text.find(end)) != std::string::npos;) {
    std::size_t begin = at;
    while (begin != 0 &&
           (std::islower(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
      --begin;
    text.erase(begin, at + end.size() - begin);
  }
  return text;
}
/// Returns the table with one space between its columns.
inline std::string without_padding(std::string text) {
  for (std::size_t at; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
  return text;
}
inline std::vector<trace_slice> slices_of(const std::string& json) {
  std::vector<trace_slice> found;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t end = std::min(json.find('\n', at), json.size());
    const std::string line = without_unit(json.substr(at, end - at));
    at = end + 1;
    if (trace_value(line, "ph") != "X") continue;
    trace_slice each;
    each.name = trace_value(line, "name");
    each.task = trace_value(line, "task");
    each.before = trace_value(line, "before");
    each.process = std::atoi(trace_value(line, "pid").c_str());
    each.track = std::atol(trace_value(line, "tid").c_str());
    each.begin = std::atof(trace_value(line, "ts").c_str());
    each.end = each.begin + std::atof(trace_value(line, "dur").c_str());
    found.push_back(each);
  }
  return found;
}
/// Returns true if of two slices on one track, one contains the other or they do not overlap.
inline bool slices_nest(std::vector<trace_slice> all) {
  std::map<std::pair<int, long>, std::vector<trace_slice>> tracks;
  for (trace_slice& each : all) tracks[{each.process, each.track}].push_back(each);
  constexpr double rounding = 0.002;
  for (auto& [where, its] : tracks) {
    std::sort(its.begin(), its.end(), [](const trace_slice& a, const trace_slice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<double> open;
    for (const trace_slice& each : its) {
      while (!open.empty() && open.back() <= each.begin + rounding) open.pop_back();
      if (!open.empty() && each.end > open.back() + rounding) return false;
      open.push_back(each.end);
    }
  }
  return true;
}
inline std::size_t count_slices(const std::vector<trace_slice>& in, int process, const std::string& name,
                                const std::string& task) {
  return static_cast<std::size_t>(std::count_if(in.begin(), in.end(), [&](const trace_slice& each) {
    return each.process == process && each.name == name && each.task == task;
  }));
}

inline coracle::async_mutex traced_lock;
inline coracle::task<> traced_child(int) {
  const auto held = co_await traced_lock.scoped_lock_async();
  co_await coracle::this_task::yield();
}
inline coracle::task<> traced_parent() {
  co_await coracle::this_task::yield();
  co_await coracle::when_all(traced_child(1), traced_child(2));
  co_await traced_child(3);
}
coracle::task<> start_on(auto& scheduler, coracle::task<> work) {
  co_await scheduler.schedule();
  co_await std::move(work);
}
inline void run_all(coracle::run_loop& loop, coracle::task<> work) {
  auto polled = coracle::testing::poll(start_on(loop, std::move(work)));
  polled.run();
  while (loop.run_one()) {
  }
  REQUIRE(polled.run());
}
}  // namespace coracle_test
