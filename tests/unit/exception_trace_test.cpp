// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/inspect/exception_trace.hpp>
#include <stdexcept>
#include <string>

using namespace coracle;

namespace {
task<int> parse(int depth) {
  co_await this_task::yield();
  if (depth >= 0) throw std::invalid_argument("not a number");
  co_return depth;
}
task<int> load(int depth) {
  if (depth > 0) co_return co_await load(depth - 1);
  co_return 1 + co_await parse(depth);
}
task<int> refresh() {
  auto [first, second] = co_await when_all(load(1), load(-1));
  co_return first + second;
}
task<> retry() {
  try {
    co_await load(0);
  } catch (const std::invalid_argument&) {
  }
  co_await load(2);
}

/// The exception with which the task ends.
template <class T>
std::exception_ptr error_of(task<T> failing) {
  try {
    sync_wait(std::move(failing));
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}
/// As "parse load ", or how it differs.
std::string names_in(const async_stacktrace& trace) {
  std::string names;
  const std::string text = trace.to_string();
  for (std::size_t at = 0; (at = text.find('#', at)) != std::string::npos; ++at) {
    const std::size_t begin = text.find_first_of(' ', at);
    std::string name = text.substr(begin, text.find("  (", begin + 3) - begin);
    name.erase(0, name.find_last_of(" :") + 1);
    names += name + ' ';
  }
  return names;
}
/// Exceptions of other tests are not recorded: that takes time, most of all under sanitizers.
struct recording {
  recording() { trace_exceptions(); }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording() { trace_exceptions(false); }
};
}  // namespace

TEST_CASE("trace_of: nothing before trace_exceptions(), and of no exception") {
  CHECK(trace_of(nullptr).empty());
  CHECK(trace_of(std::make_exception_ptr(1)).empty());
}

TEST_CASE("trace_of: the awaits that led to the task that an exception left first") {
  const recording here;
  const std::exception_ptr error = error_of(refresh());
  REQUIRE(error);
  const std::string text = trace_of(error).to_string();
  CAPTURE(text);
  CHECK(names_in(trace_of(error)) == "parse load load refresh ");
  CHECK(text.find("through when_all()\n") != std::string::npos);
  CHECK(text.find("sync_wait()\n") != std::string::npos);
}

TEST_CASE("trace_of: an exception after one that was caught has its own awaits") {
  const recording here;
  const std::exception_ptr error = error_of(retry());
  CHECK(names_in(trace_of(error)) == "parse load load load retry ");
}

TEST_CASE("trace_of: two exceptions at the same time") {
  const recording here;
  const std::exception_ptr one = error_of(load(0));
  const std::exception_ptr other = error_of(load(1));
  CHECK(names_in(trace_of(one)) == "parse load ");
  CHECK(names_in(trace_of(other)) == "parse load load ");
}

TEST_CASE("trace_of: of many exceptions the last ones") {
  const recording here;
  const std::exception_ptr first = error_of(load(0));
  std::exception_ptr kept[64];
  for (std::exception_ptr& each : kept) each = error_of(load(0));
  CHECK(trace_of(first).empty());
  for (const std::exception_ptr& each : kept) CHECK(trace_of(each).size() == 2);
}

TEST_CASE("trace_of: nothing of an exception after trace_exceptions(false)") {
  {
    const recording here;
  }
  CHECK(trace_of(error_of(load(0))).empty());
}
