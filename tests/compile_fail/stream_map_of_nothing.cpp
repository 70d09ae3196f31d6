// expect: map(f): f returns nothing; for its side effects end the pipeline in for_each(f)
// tests/compile_fail/stream_map_of_nothing.cpp -- a map that gives no element.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/core/task.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>

namespace streams = coracle::streams;

coracle::task<> wrong(coracle::channel<int>& numbers) {
  const auto use = [](int) {};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (numbers | streams::map(use) | streams::for_each(use));
#endif
  co_await (numbers | streams::for_each(use));
}
