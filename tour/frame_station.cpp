// tour/frame_station.cpp -- call, suspend, resume, return and destroy, with measured addresses.
// SPDX-License-Identifier: MIT
#include <coracle/core/transfer.hpp>
#include <thread>

#include "format.hpp"
#include "frame_diary.hpp"
#include "stations.hpp"
#include "traced.hpp"

namespace tour {
namespace {
constexpr int argument_of_x = 14;

/// Suspends the coroutine and goes back to whoever called or resumed it.
class leave_stack {
 public:
  leave_stack() noexcept {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};

[[gnu::noinline]] int g(int number, frame_diary& diary) {
  diary.inside_g(frame_position(), position_below());
  return 2 * number;
}

[[gnu::noinline]] traced x(int number, frame_diary& diary) {
  diary.saw("number of x", &number, "its parameter");
  {
    int brief = number;
    diary.saw("brief of x", &brief, "not needed later");
  }
  int kept = 0;
  diary.saw("kept of x", &kept, "needed later");
  kept = g(number, diary);
  co_await leave_stack();
  diary.saw("kept of x", &kept, "after it was resumed");
  diary.resumed(frame_position(), position_below());
  co_return kept + number;
}

[[gnu::noinline]] void h(std::coroutine_handle<> suspended, frame_diary& diary) {
  diary.h_position = frame_position();
  coracle::resume(suspended);
  diary.h_below = position_below();
  diary.completed();
}

[[gnu::noinline]] int f(frame_diary& diary) {
  int number = argument_of_x;
  diary.saw("number of f", &number, "argument for x");
  diary.f_position = frame_position();
  diary.f_below = position_below();
  diary.before_call();
  traced running = x(number, diary);
  diary.saw("promise of x", &running.body().promise());
  diary.suspended();
  std::thread other([&running, &diary] { h(running.body(), diary); });
  other.join();
  const int result = running.result();
  running.destroy();
  diary.destroyed();
  return result;
}

void check_frame(section& page, int result, const stack_bounds& stack) {
  const frame_record& frame = traced_frame;
  page.check(result == 3 * argument_of_x,
             "x gave " + std::to_string(result) + " on another thread than it began on.");
  page.check(!stack.contains(frame.address),
             "The frame was on no stack: x survived leaving the one it ran on.");
  page.check(frame.freed_address == frame.address && frame.freed_size == frame.size,
             "One frame allocated, the same one freed: " + byte_size(static_cast<double>(frame.size)) + ".");
  page.measured("frame_bytes", static_cast<double>(frame.size), "bytes");
}
}  // namespace

void show_frame(section& page, const settings&) {
  page.say(
      "An ordinary call lives on the stack and is gone when it returns. A coroutine keeps what it needs "
      "later in a "
      "frame of its own, so it can leave the stack in the middle and go on elsewhere. x starts at once, like "
      "a call:");
  page.add(
      listing{"int g(int number) { return 2 * number; }\n"
              "traced x(int number) {\n"
              "  int kept = g(number);\n"
              "  co_await leave_stack();  // back to f\n"
              "  co_return kept + number;\n"
              "}\n"
              "void h(coroutine_handle<> suspended) {\n"
              "  suspended.resume();      // on thread 2\n"
              "}\n"
              "int f() {\n"
              "  traced running = x(14);\n"
              "  thread(h, running.body()).join();\n"
              "  int result = running.result();\n"
              "  running.destroy();\n"
              "  return result;\n"
              "}\n"});
  traced_frame = {};
  frame_diary diary(page);
  const int result = f(diary);
  diary.table_of_places();
  check_frame(page, result, this_stack());
}
}  // namespace tour
