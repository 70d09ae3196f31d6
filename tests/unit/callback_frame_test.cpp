// tests/unit/callback_frame_test.cpp -- a plain function as the continuation of a coroutine.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/callback_frame.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/task.hpp>
#include <string>
#include <thread>

#include "../support/abort_message.hpp"

namespace {
using coracle::detail::callback_frame;

struct counting_frame : callback_frame {
  explicit counting_frame(const coracle::environment* inherited = nullptr) noexcept
      : callback_frame(&count, inherited) {}
  static void count(callback_frame* self) {
    auto* const frame = static_cast<counting_frame*>(self);
    ++frame->calls;
    frame->thread = std::this_thread::get_id();
  }
  int calls = 0;
  std::thread::id thread;
};

TEST_CASE("callback_frame: resuming its handle calls the function with the frame, any number of times") {
  counting_frame first, second;
  const std::coroutine_handle<> handle = first.handle();
  handle.resume();
  coracle::resume(handle);
  handle();
  CHECK(first.calls == 3);
  CHECK(second.calls == 0);
}

TEST_CASE("callback_frame: may be resumed from any thread") {
  counting_frame frame;
  std::thread other([&frame] { coracle::resume(frame.handle()); });
  const std::thread::id expected = other.get_id();
  other.join();
  CHECK(frame.calls == 1);
  CHECK(frame.thread == expected);
}

TEST_CASE("callback_frame: its handle behaves as that of a coroutine that has not ended") {
  counting_frame frame;
  const auto handle = frame.handle();
  CHECK(handle);
  CHECK_FALSE(handle.done());
  CHECK(handle.address() == &frame);
  handle.resume();
  CHECK_FALSE(handle.done());
}

TEST_CASE("callback_frame: the promise lies where this compiler looks for it") {
  const coracle::environment inherited;
  counting_frame frame(&inherited);
  const auto handle = frame.handle();
  CHECK(handle.promise().get_environment() == &inherited);
  CHECK(std::coroutine_handle<coracle::detail::callback_promise>::from_promise(handle.promise()) == handle);
  CHECK(counting_frame().handle().promise().get_environment() == nullptr);
}

coracle::task<coracle::stop_token> own_token() { co_return co_await coracle::this_task::stop_token(); }

TEST_CASE(
    "callback_frame: a task that it awaits inherits the environment, and calls the function at its end") {
  const coracle::stop_source source;
  coracle::environment inherited;
  inherited.stop = source.get_token();
  counting_frame frame(&inherited);
  coracle::task<coracle::stop_token> child = own_token();
  auto awaiter = std::move(child).operator co_await();
  CHECK(coracle::detail::suspend_into(awaiter, frame.handle()));
  CHECK(frame.calls == 1);
  CHECK(awaiter.await_resume() == source.get_token());
}

TEST_CASE("callback_frame: many children share one") {
  counting_frame frame;
  auto child = []() -> coracle::task<> { co_return; };
  coracle::task<> one = child(), two = child();
  for (coracle::task<>* each : {&one, &two}) {
    auto awaiter = each->when_ready();
    CHECK(coracle::detail::suspend_into(awaiter, frame.handle()));
  }
  CHECK(frame.calls == 2);
  CHECK(one.is_ready());
  CHECK(two.is_ready());
}

TEST_CASE("callback_frame: one that is destroyed through its handle ends the program with one line") {
  const std::string written = coracle_test::abort_message([] {
    counting_frame frame;
    frame.handle().destroy();
  });
  CHECK(written == "coracle: plain code that waits for a coroutine was destroyed\n");
}
}  // namespace
