// tests/unit/trace_test.cpp -- traces of what threads run, and of what each task waits for.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/inspect/live_coroutines.hpp>
#include <coracle/inspect/trace.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "traced_tasks.hpp"

using namespace coracle;
using coracle_test::count_slices;
using coracle_test::run_all;
using coracle_test::slices_nest;
using coracle_test::slices_of;
using coracle_test::start_on;
using coracle_test::trace_slice;
using coracle_test::traced_parent;
using coracle_test::without_padding;
using coracle_test::without_unit;

TEST_CASE("trace: the turns of a run_loop, and what each task waited for") {
  run_loop loop;
  REQUIRE(start_trace());
  CHECK(!start_trace());
  run_all(loop, traced_parent());
  const recorded_trace trace = stop_trace();
  const std::string json = trace.to_json();
  const std::string text = without_padding(without_unit(trace.to_text()));
  CAPTURE(json);
  CAPTURE(text);
  const std::vector<trace_slice> slices = slices_of(json);
  CHECK(trace.lost() == 0);
  // start_on; the yields of traced_parent and of three children; the lock handed to the second
  CHECK(trace.turns() == 6);
  CHECK(slices_nest(slices));
  CHECK(count_slices(slices, 1, "traced_parent", "start_on") == 1);
  CHECK(count_slices(slices, 1, "traced_child", "traced_child") == 3);
  CHECK(count_slices(slices, 1, "traced_child", "start_on") == 1);
  CHECK(std::any_of(slices.begin(), slices.end(), [](const trace_slice& each) {
    return each.process == 1 && each.before == "waits to lock async_mutex";
  }));
  CHECK(count_slices(slices, 2, "waits to lock async_mutex", "traced_child") == 1);
  CHECK(count_slices(slices, 2, "waits for its children", "start_on") != 0);
  CHECK(text.find(": 1 thread, 6 turns\n") != std::string::npos);
  CHECK(text.find("\nstart_on 1 ") != std::string::npos);
  CHECK(text.find("\ntraced_child 2 ") != std::string::npos);
}

namespace {
/// Returns once the clock has gone on.
task<> run_for_a_moment() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(2)) {
  }
  co_return;
}
}  // namespace

TEST_CASE("trace: a task is queued while another one has the thread, and runs when its own turn begins") {
  run_loop loop;
  REQUIRE(start_trace());
  auto first = testing::poll(start_on(loop, run_for_a_moment()));
  auto second = testing::poll(start_on(loop, run_for_a_moment()));
  first.run();
  second.run();
  while (loop.run_one()) {
  }
  REQUIRE(first.run());
  REQUIRE(second.run());
  const recorded_trace trace = stop_trace();
  const std::string json = trace.to_json();
  CAPTURE(json);
  std::vector<trace_slice> turns, runs, queued;
  for (const trace_slice& each : slices_of(json)) {
    if (each.process == 1) {
      turns.push_back(each);
    } else {
      (each.name == "queued" ? queued : runs).push_back(each);
    }
  }
  REQUIRE(turns.size() == 2);
  REQUIRE(runs.size() == 2);
  REQUIRE(queued.size() == 2);
  constexpr double rounding = 0.002;
  const auto same = [](double a, double b) { return std::abs(a - b) < rounding; };
  for (const trace_slice& turn : turns) {
    CHECK(std::any_of(runs.begin(), runs.end(), [&](const trace_slice& each) {
      return same(each.begin, turn.begin) && same(each.end, turn.end);
    }));
    CHECK(std::any_of(queued.begin(), queued.end(),
                      [&](const trace_slice& each) { return same(each.end, turn.begin); }));
  }
  CHECK(std::any_of(queued.begin(), queued.end(), [&](const trace_slice& each) {
    return each.begin <= turns[0].begin && each.end >= turns[0].end;  // the turns are in the order of time
  }));
}

TEST_CASE("trace: without start_trace() it is empty, and stopping twice does nothing") {
  CHECK(stop_trace().turns() == 0);
  CHECK(slices_of(stop_trace().to_json()).empty());
  CHECK(recorded_trace().to_text() == "no trace was recorded\n");
  run_loop loop;
  run_all(loop, traced_parent());
  REQUIRE(start_trace());
  CHECK(stop_trace().turns() == 0);
}

TEST_CASE("trace: stop_trace() ends the recording although there is no memory for the result" *
          doctest::skip(!testing::allocations_are_counted)) {
  run_loop loop;
  run_all(loop, traced_parent());  // what is allocated once
  const int failed = testing::fail_each_allocation([&] {
    REQUIRE(start_trace());
    {
      const testing::allocations_aside not_of_the_trace;
      run_all(loop, traced_parent());
      trim_frame_memory();
    }
    try {
      CHECK(stop_trace().turns() == 6);
    } catch (const std::bad_alloc&) {
    }
    CHECK(stop_trace().turns() == 0);
  });
  CHECK(failed >= 3);
}

TEST_CASE("trace: a strand's turns lie within one of the executor below") {
  run_loop loop;
  REQUIRE(start_trace());
  strand line{loop};
  auto polled = testing::poll(start_on(line, traced_parent()));
  polled.run();
  while (loop.run_one()) {
  }
  REQUIRE(polled.run());
  const std::vector<trace_slice> slices = slices_of(stop_trace().to_json());
  CHECK(slices_nest(slices));
  const auto outer = std::find_if(slices.begin(), slices.end(), [](const trace_slice& each) {
    return each.name.find("posted_run") != std::string::npos;
  });
  REQUIRE(outer != slices.end());
  CHECK(std::count_if(slices.begin(), slices.end(), [&](const trace_slice& each) {
          return each.process == 1 && each.begin >= outer->begin && each.end <= outer->end;
        }) == 7);
}

TEST_CASE("trace: what newer events overwrite is counted, and the rest is complete") {
  run_loop loop;
  REQUIRE(start_trace(8));
  for (int i = 0; i != 10; ++i) run_all(loop, traced_parent());
  const recorded_trace trace = stop_trace();
  const std::string text = trace.to_text();
  CAPTURE(text);
  CHECK(trace.lost() == 10 * 6 * 3 - 8);  // each turn has a post, a begin and an end
  CHECK(text.find(std::to_string(trace.lost()) + " events were lost") != std::string::npos);
  CHECK(trace.to_json().find("\"lost\":" + std::to_string(trace.lost())) != std::string::npos);
  CHECK(slices_nest(slices_of(trace.to_json())));
}

TEST_CASE("trace: a task that ends does not become one with the next at its address") {
  run_loop loop;
  REQUIRE(start_trace());
  for (int i = 0; i != 5; ++i) run_all(loop, traced_parent());
  const std::string text = without_padding(without_unit(stop_trace().to_text()));
  CAPTURE(text);
  CHECK(text.find("\nstart_on 5 ") != std::string::npos);
}

TEST_CASE("trace: an operation of an io_service is a wait for I/O") {
  io_service io;
  auto ends = make_pipe(io);
  struct {
    task<> operator()(stream_descriptor& from) const {
      char byte = 0;
      co_await from.read_some(&byte, 1);
    }
  } const read_from;
  struct {
    task<> operator()(stream_descriptor& to) const {
      co_await this_task::yield();
      char byte = 'a';
      co_await to.write_all(&byte, 1);
    }
  } const write_to;
  REQUIRE(start_trace());
  io.run(when_all(read_from(ends.read_end), write_to(ends.write_end)));
  const std::vector<trace_slice> slices = slices_of(stop_trace().to_json());
  CHECK(std::any_of(slices.begin(), slices.end(),
                    [](const trace_slice& each) { return each.before == "waits for I/O"; }));
}

namespace {
task<> searched_child(static_thread_pool& on, async_manual_reset_event& reached,
                      async_manual_reset_event& wanted) {
  co_await on.schedule();
  co_await this_task::yield();
  reached.set();
  co_await wanted;
}
task<> searched_parent(static_thread_pool& on, async_manual_reset_event& reached,
                       async_manual_reset_event& wanted) {
  co_await searched_child(on, reached, wanted);
}
std::size_t count_text(const std::string& in, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = in.find(text, at)) != std::string::npos; ++at) ++count;
  return count;
}
}  // namespace

TEST_CASE("trace: a search for coroutines does not find what the recorder has read on other threads" *
          doctest::skip(CORACLE_ADDRESS_SANITIZER() || CORACLE_THREAD_SANITIZER())) {
  static_thread_pool pool(1);
  async_manual_reset_event recorded, looked;
  REQUIRE(start_trace());
  std::thread waits([&] { sync_wait(searched_parent(pool, recorded, looked)); });
  sync_wait(recorded);
  const recorded_trace trace = stop_trace();
  const std::string found = live_coroutines();
  looked.set();
  waits.join();
  CAPTURE(found);
  CHECK(trace.turns() != 0);
  CHECK(count_text(found, "searched_parent  (") == 1);
  CHECK(count_text(found, "searched_child  (") == 1);
}

TEST_CASE("trace: started and stopped while the threads of a pool run") {
  static_thread_pool pool(2);
  async_mutex lock;
  struct {
    task<> operator()(static_thread_pool& on, async_mutex& its) const {
      for (int i = 0; i != 200; ++i) {
        co_await on.schedule();
        const auto held = co_await its.scoped_lock_async();
      }
    }
  } const work;
  std::thread tracer([] {
    for (int i = 0; i != 20; ++i) {
      static_cast<void>(start_trace(64));
      CHECK(slices_nest(slices_of(stop_trace().to_json())));
    }
  });
  for (int i = 0; i != 5; ++i) sync_wait(when_all(work(pool, lock), work(pool, lock), work(pool, lock)));
  tracer.join();
}
