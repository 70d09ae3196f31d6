// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
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
#include <coracle/inspect/long_turns.hpp>
#include <coracle/inspect/trace.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../src/inspect/turn_recorder.hpp"

using namespace coracle;

namespace {
/// A slice of a trace: each is a line of the JSON.
struct trace_slice {
  std::string name, task, before;
  int process = 0;
  long track = 0;
  double begin = 0, end = 0;
};
/// Returns the value after the key, up to the next quote or comma.
std::string trace_value(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return {};
  std::size_t begin = at + key.size() + 3;
  const bool is_text = line[begin] == '"';
  begin += is_text;
  return line.substr(begin, line.find_first_of(is_text ? "\"" : ",}", begin) - begin);
}
std::string without_unit(std::string text) {
  const std::string name = "trace_test::";
  for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.erase(at, name.size());
  return text;
}
/// Returns the table with one space between its columns.
std::string without_padding(std::string text) {
  for (std::size_t at; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
  return text;
}
std::vector<trace_slice> slices_of(const std::string& json) {
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
bool slices_nest(std::vector<trace_slice> all) {
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
std::size_t count_slices(const std::vector<trace_slice>& in, int process, const std::string& name,
                         const std::string& task) {
  return static_cast<std::size_t>(std::count_if(in.begin(), in.end(), [&](const trace_slice& each) {
    return each.process == process && each.name == name && each.task == task;
  }));
}

async_mutex traced_lock;
task<> traced_child(int) {
  const auto held = co_await traced_lock.scoped_lock_async();
  co_await this_task::yield();
}
task<> traced_parent() {
  co_await this_task::yield();
  co_await when_all(traced_child(1), traced_child(2));
  co_await traced_child(3);
}
task<> start_on(auto& scheduler, task<> work) {
  co_await scheduler.schedule();
  co_await std::move(work);
}
void run_all(run_loop& loop, task<> work) {
  auto polled = testing::poll(start_on(loop, std::move(work)));
  polled.run();
  while (loop.run_one()) {
  }
  REQUIRE(polled.run());
}
}  // namespace

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
/// A coroutine of another library, which has its continuation where a task has its parent.
struct foreign_work {
  struct promise_type {
    std::uintptr_t result = 0;
    std::uintptr_t continued;  // a coroutine, or anything

    explicit promise_type(std::uintptr_t word, auto&...) noexcept : continued(word) {}
    foreign_work get_return_object() noexcept { return foreign_work(handle_of(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct continues {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        if (!self.promise().result) return std::noop_coroutine();
        return std::coroutine_handle<>::from_address(reinterpret_cast<void*>(self.promise().continued));
      }
      void await_resume() noexcept {}
    };
    continues final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::abort(); }
  };
  static std::coroutine_handle<promise_type> handle_of(promise_type& its) noexcept {
    return std::coroutine_handle<promise_type>::from_promise(its);
  }
  explicit foreign_work(std::coroutine_handle<promise_type> made) noexcept : handle(made) {}
  foreign_work(foreign_work&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  ~foreign_work() {
    if (handle) handle.destroy();
  }
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) const noexcept {
    handle.promise().result = 1;
    handle.promise().continued = reinterpret_cast<std::uintptr_t>(parent.address());
    return handle;
  }
  void await_resume() const noexcept {}

  std::coroutine_handle<promise_type> handle;
};
foreign_work foreign_child(std::uintptr_t, run_loop& loop) { co_await loop.schedule(); }
foreign_work foreign_root(std::uintptr_t, run_loop& loop) {
  co_await foreign_child(0, loop);
  co_await loop.schedule();
}
}  // namespace

TEST_CASE("trace: coroutines of other types are not followed into whatever they have in place of a parent") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const no_access = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(no_access != MAP_FAILED);
  alignas(16) std::uintptr_t no_frame[4] = {1, 2, 3, 4};
  const std::uintptr_t words[] = {0,
                                  16,
                                  std::uintptr_t{0x6400000030},
                                  std::uintptr_t{1} << 62,
                                  ~std::uintptr_t{7},
                                  reinterpret_cast<std::uintptr_t>(no_access),
                                  reinterpret_cast<std::uintptr_t>(no_access) | 4,
                                  reinterpret_cast<std::uintptr_t>(no_frame),
                                  reinterpret_cast<std::uintptr_t>(no_frame) | 4};
  run_loop loop;
  REQUIRE(start_trace());
  for (const std::uintptr_t word : words) {
    const foreign_work root = foreign_root(word, loop);  // its child looks like a task
    root.handle.resume();
    while (loop.run_one()) {
    }
    CHECK(root.handle.done());
    const foreign_work child = foreign_child(word, loop);  // so this one is taken for one
    child.handle.resume();
    while (loop.run_one()) {
    }
    CHECK(child.handle.done());
  }
  const recorded_trace trace = stop_trace();
  CHECK(trace.turns() == 3 * std::size(words));
  const std::string text = without_unit(trace.to_text());
  CAPTURE(text);
  CHECK(text.find("\nforeign_root ") != std::string::npos);
  CHECK(text.find("\nforeign_child ") != std::string::npos);
  ::munmap(no_access, page);
}

namespace {
struct seen_turns {
  std::atomic<int> reports{0};
  long_turn first;
} seen_long;
/// Keeps its thread until it is reported, and then a little longer.
task<> compute_for_long() {
  while (seen_long.reports == 0) std::this_thread::yield();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < end) {
  }
  co_return;
}
task<> await_computation() { co_await compute_for_long(); }
}  // namespace

TEST_CASE("long_turn_watch: a turn that does not end is reported once, with the awaits of its begin") {
  seen_long.reports = 0;
  run_loop loop;
  {
    const long_turn_watch watch(std::chrono::microseconds(200), [](const long_turn& seen) {
      // The first turn, which looks symbols up, may take long, too.
      if (seen.awaits.find("start_on") == std::string::npos) return;
      if (seen_long.reports == 0) seen_long.first = seen;
      ++seen_long.reports;
    });
    run_all(loop, await_computation());
  }
  CHECK(seen_long.reports == 1);
  CHECK(seen_long.first.lasted >= std::chrono::microseconds(200));
  CHECK(seen_long.first.thread == ::gettid());
  CHECK(without_unit(seen_long.first.awaits).find("start_on  (") == 0);
  static_cast<void>(start_trace());
  run_all(loop, traced_parent());
  CHECK(stop_trace().turns() == 6);  // the watch has left nothing behind
}

namespace {
task<> ask_for_long_turns(int& failed) {
  failed = testing::fail_each_allocation([] {
    try {
      static_cast<void>(detail::turn_recorder::long_turns());
    } catch (const std::bad_alloc&) {
    }
  });
  co_return;
}
}  // namespace

TEST_CASE("long turns: without memory to list those under way, the list throws std::bad_alloc" *
          doctest::skip(!testing::allocations_are_counted)) {
  using detail::turn_recorder;
  int failed = 0;
  run_loop loop;
  turn_recorder::keep_long_turns(turn_recorder::watcher::program, 1);
  run_all(loop, ask_for_long_turns(failed));
  turn_recorder::keep_long_turns(turn_recorder::watcher::program, 0);
  CHECK(failed >= 1);
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
          doctest::skip(CORACLE_ADDRESS_SANITIZER() || CORACLE_HAS_FEATURE(thread_sanitizer))) {
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
