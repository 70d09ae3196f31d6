// tests/model/schedule.cpp -- ways to an executor, children that a coroutine runs there, and pipelines.
// SPDX-License-Identifier: MIT
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "model_children.hpp"
#include "model_executor.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::task;
using namespace coracle_test;
namespace streams = coracle::streams;

// ---- schedule() ----

void hop_to_thread() {
  model_executor place;
  plain_int data = 0;
  bool there = false;
  const auto hop = [&]() -> detached {
    data = 7;
    co_await place.schedule();
    model_expect(data == 7 && coracle::current_executor() == &place, "there, with what was done before");
    data = 8;
    there = true;
  };
  model_thread runner{[&] { place.run(1); }};
  hop();
  runner.join();
  model_expect(there && data == 8, "it ran once");
}
/// Stopped before it moves, it stays. Stopped while it is queued, it arrives and is cancelled there.
task<> hop(model_executor& place, bool& arrived) {
  std::optional<coracle::stop_reason> cancelled;
  try {
    co_await place.schedule();
  } catch (const coracle::operation_cancelled& why) {
    cancelled = why.reason();
  }
  arrived = coracle::current_executor() == &place;
  if (cancelled) coracle::detail::throw_cancelled(*cancelled);
}
void stop_against_hop() {
  model_executor place;
  stoppable_place stops;
  bool arrived = false;
  wait_end end = wait_end::waits;
  model_thread stopper{[&] { stops.request_stop(); }};
  note_end(stops, hop(place, arrived), end);
  if (end == wait_end::waits) place.run(1);
  stopper.join();
  model_expect(end == wait_end::cancelled || arrived, "carried out only there");
}
/// There and back: writes before each hop are visible after it.
void via_and_back() {
  model_executor home, place;
  plain_int data = 0;
  int seen = 0;
  const auto work = [&]() -> task<int> {
    data = data + 1;
    co_return data;
  };
  const auto visit = [&]() -> detached {
    co_await home.schedule();
    data = 1;
    auto there = work();
    const int given = co_await coracle::via(std::move(there), place);
    model_expect(coracle::current_executor() == &home, "back");
    data = data + 1;
    seen = given;
  };
  model_thread runner{[&] { place.run(1); }};
  visit();
  home.run(2);
  runner.join();
  model_expect(seen == 2 && data == 3, "there and back");
}

// ---- children of a coroutine ----

/// Two children end concurrently: each result is taken once, and their writes are visible.
void two_children() {
  std::vector<std::coroutine_handle<>> handles(2);
  std::vector<plain_int> data(2);
  int sum = 0, took = 0;
  const auto run = [&]() -> detached {
    const std::vector<int> both{0, 1};
    const auto child = [&](int i) {
      return later(handles[static_cast<std::size_t>(i)], data[static_cast<std::size_t>(i)], 7);
    };
    const auto take = [&](int given) { took += given; };
    co_await coracle::detail::run_children(both, 2, child, take);
    sum = data[0] + data[1];
  };
  run();
  resume_both(handles[0], handles[1]);
  model_expect(took == 14 && sum == 14, "each child is taken once, before it goes on");
}
/// One child ends while the next is started.
void child_ends_against_start() {
  std::vector<std::coroutine_handle<>> handles(2);
  std::vector<plain_int> data(2);
  int sum = 0, took = 0;
  std::optional<model_thread> one;
  const auto run = [&]() -> detached {
    const std::vector<int> both{0, 1};
    const auto child = [&](int i) -> task<int> {
      if (i == 1) one.emplace([&] { coracle::resume(handles[0]); });
      return later(handles[static_cast<std::size_t>(i)], data[static_cast<std::size_t>(i)], 7);
    };
    const auto take = [&](int given) { took += given; };
    co_await coracle::detail::run_children(both, 2, child, take);
    sum = data[0] + data[1];
  };
  run();
  coracle::resume(handles[1]);
  one->join();
  model_expect(took == 14 && sum == 14, "each child is taken once, before it goes on");
}
void child_fails() {
  std::coroutine_handle<> bad;
  async_manual_reset_event event;
  int failed = 0;
  const auto run = [&]() -> detached {
    const std::vector<int> both{0, 1};
    const auto child = [&](int i) -> task<> {
      if (i == 0) {
        co_await hand_out{bad};
        throw std::runtime_error("failed");
      }
      co_await event;
    };
    bool has_failed = false;
    try {
      co_await coracle::for_each_concurrent(both, 2, child);
    } catch (const std::runtime_error&) {
      has_failed = true;
    }
    failed += has_failed;
  };
  run();
  model_thread setter{[&] { event.set(); }};
  coracle::resume(bad);
  setter.join();
  model_expect(failed == 1, "the error, once, after both have ended");
}

// ---- pipelines ----

/// Elements that run ahead end on two threads: the consumer gets them in order, then all work is joined.
void buffered_elements() {
  std::vector<std::coroutine_handle<>> handles(2);
  std::vector<plain_int> data(2);
  std::vector<int> got;
  bool ended = false;
  const auto element = [&](int i) -> task<int> {
    co_await hand_out{handles[static_cast<std::size_t>(i)]};
    data[static_cast<std::size_t>(i)] = 7;
    co_return i;
  };
  const auto source = []() -> coracle::async_generator<int> {
    for (int i = 0; i != 2; ++i) co_yield i;
  };
  const auto run = [&]() -> detached {
    const auto note = [&](int i) {
      model_expect(data[static_cast<std::size_t>(i)] == 7, "with what it did");
      got.push_back(i);
    };
    co_await (source() | streams::map(element) | streams::buffered(2) | streams::for_each(note));
    ended = true;
  };
  run();
  resume_both(handles[0], handles[1]);
  model_expect(ended && got == std::vector<int>{0, 1}, "each once, in order");
}
/// One element ends while the pump starts the next.
void buffered_end_against_start() {
  std::vector<std::coroutine_handle<>> handles(2);
  std::optional<model_thread> one;
  std::vector<int> got;
  bool ended = false;
  const auto wait = [&](int i) -> task<int> {
    co_await hand_out{handles[static_cast<std::size_t>(i)]};
    co_return i;
  };
  const auto element = [&](int i) -> task<int> {
    if (i == 1) one.emplace([&] { coracle::resume(handles[0]); });
    return wait(i);
  };
  const auto source = []() -> coracle::async_generator<int> {
    for (int i = 0; i != 2; ++i) co_yield i;
  };
  const auto run = [&]() -> detached {
    const auto note = [&](int i) { got.push_back(i); };
    co_await (source() | streams::map(element) | streams::buffered(2) | streams::for_each(note));
    ended = true;
  };
  run();
  coracle::resume(handles[1]);
  one->join();
  model_expect(ended && got == std::vector<int>{0, 1}, "each once, in order");
}
void merged_streams() {
  coracle::async_auto_reset_event a, b;
  std::vector<int> got;
  bool ended = false;
  const auto source = [](coracle::async_auto_reset_event& event, int value) -> coracle::async_generator<int> {
    co_await event;
    co_yield value;
  };
  const auto run = [&]() -> detached {
    const auto note = [&](int value) { got.push_back(value); };
    co_await (streams::merge(source(a, 1), source(b, 2)) | streams::for_each(note));
    ended = true;
  };
  run();
  model_thread one{[&] { a.set(); }};
  b.set();
  one.join();
  model_expect(ended && got.size() == 2 && got[0] + got[1] == 3, "each once");
}
/// The pipeline ends early, on an executor, while an element that runs ahead ends elsewhere: it is joined.
void early_end_joins() {
  std::vector<std::coroutine_handle<>> handles(2);
  plain_int data = 0;
  model_executor place;
  bool ended = false;
  const auto element = [&](int i) -> task<int> {
    co_await hand_out{handles[static_cast<std::size_t>(i)]};
    if (i == 1) data = 7;
    co_return i;
  };
  const auto source = []() -> coracle::async_generator<int> {
    for (int i = 0; i != 2; ++i) co_yield i;
  };
  const auto run = [&]() -> detached {
    const auto ignore = [](int) {};
    co_await place.schedule();
    // One of three slots stays free, so the pump has ended, and only the element is left.
    co_await (source() | streams::map(element) | streams::buffered(3) | streams::take(1) |
              streams::for_each(ignore));
    model_expect(data == 7, "what ran ahead is joined");
    ended = true;
  };
  run();
  place.run(1);
  model_thread one{[&] {
    coracle::resume(handles[0]);
    coracle::resume(handles[1]);
  }};
  while (!ended) place.run(1);
  one.join();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("schedule: to another thread", run.all, hop_to_thread);
  run.check("schedule: stop against the way", run.all, stop_against_hop);
  run.check("via: there and back", run.all, via_and_back);
  run.check("run_children: two ends", run.all, two_children);
  run.check("run_children: an end against a start", run.all, child_ends_against_start);
  run.check("for_each_concurrent: a failure against an end", run.all, child_fails);
  run.check("streams: buffered elements end on two threads", run.all, buffered_elements);
  run.check("streams: an element ends against a start", run.all, buffered_end_against_start);
  run.check("streams: merge of two threads", 4, merged_streams);
  run.check("streams: an early end joins what runs ahead", run.all, early_end_joins);
  return run.finish();
}
