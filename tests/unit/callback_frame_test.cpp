// tests/unit/callback_frame_test.cpp -- a plain function as the continuation of a coroutine.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/task.hpp>
#include <string>
#include <thread>

#include "../support/abort_message.hpp"

namespace coracle_test {
// Not in the unnamed namespace: clang gives the functions there another calling convention.
struct plain_frame : coracle::detail::callback_frame {
  explicit plain_frame(function* on_resume) noexcept : basic_callback_frame(on_resume, nullptr) {}
  static void count(basic_callback_frame* self) { ++static_cast<plain_frame*>(self)->calls; }
  int calls = 0;
};
[[gnu::noinline]] int calls_of_new_frame() {
  plain_frame frame(nullptr);
  frame.set_function(&plain_frame::count);
  frame.calls = 41;
  frame.handle().resume();
  return frame.calls;
}
}  // namespace coracle_test

namespace {
using coracle::detail::callback_frame;
using coracle_test::plain_frame;

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

// With -O2, clang sees in these two which function is called. It did not call it then.
TEST_CASE("callback_frame: its function is called also where the compiler sees which one that is") {
  CHECK(coracle_test::calls_of_new_frame() == 42);
}

struct coroutine {
  struct promise_type {
    coroutine get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };
  std::coroutine_handle<promise_type> handle;
};
struct starting_frame : plain_frame {
  starting_frame() noexcept : plain_frame(&start) {}
  CORACLE_TRANSFER_ABI() static void start(callback_frame* self) {
    auto& mine = *static_cast<starting_frame*>(self);
    const auto count_one = [](int& calls) -> coroutine {
      ++calls;
      co_return;
    };
    mine.child = count_one(mine.calls).handle;
    CORACLE_RETURN_TO(self, coracle::transfer_to(mine.child));
  }
  std::coroutine_handle<> child;
};
TEST_CASE("callback_frame: it continues a coroutine that the compiler sees it make") {
  starting_frame frame;
  coracle::resume(frame.handle());
  CHECK(frame.calls == 1);
  frame.child.destroy();
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

// ---- shared frames -------------------------------------------------------------------------------------

using coracle::detail::shared_frame;
using coracle::detail::shared_promise;

struct recording_frame : shared_frame {
  recording_frame() noexcept : shared_frame(&ended, &functions) {}
  static void ended(basic_callback_frame* self) { ++static_cast<recording_frame*>(self)->ends; }
  static void failed(shared_promise& self, const void* task, coracle::stop_reason stopped_for) noexcept {
    const auto handle = std::coroutine_handle<shared_promise>::from_promise(self);
    auto& mine = static_cast<recording_frame&>(*static_cast<basic_callback_frame*>(handle.address()));
    mine.failed_task = task;
    mine.stopped_for = stopped_for;
    mine.ends_before = mine.ends;
  }
  static coracle::detail::awaiting_frame above(shared_promise&, coracle::stop_reason) noexcept { return {}; }
  static constexpr shared_promise::functions functions{&failed, &above};

  int ends = 0;
  int ends_before = -1;
  const void* failed_task = nullptr;
  coracle::stop_reason stopped_for = coracle::stop_reason::requested;
};

TEST_CASE(
    "shared_frame: a task that fails tells it before it resumes it, one that does not resumes it only") {
  recording_frame frame;
  const auto child = [](bool fails) -> coracle::task<int> {
    if (fails) throw 1;
    co_return 1;
  };
  coracle::task<int> good = child(false), bad = child(true);
  auto awaits_good = good.when_ready();
  auto awaits_bad = bad.when_ready();
  CHECK(coracle::detail::suspend_into(awaits_good, frame.handle()));
  CHECK(frame.ends == 1);
  CHECK(frame.failed_task == nullptr);
  CHECK(coracle::detail::suspend_into(awaits_bad, frame.handle()));
  CHECK(frame.ends == 2);
  CHECK(frame.ends_before == 1);
  CHECK(frame.failed_task != nullptr);
  CHECK(frame.stopped_for == coracle::stop_reason::none);
}

TEST_CASE("shared_frame: other frames, and coroutines, are none") {
  recording_frame shared;
  counting_frame other;
  auto child = []() -> coracle::task<> {
    throw 1;
    co_return;
  };
  CHECK(shared_frame::is_one(shared.handle()));
  CHECK_FALSE(shared_frame::is_one(other.handle()));
  CHECK_FALSE(shared_frame::is_one(std::noop_coroutine()));
  coracle::task<> one = child();
  auto awaiter = one.when_ready();
  CHECK(coracle::detail::suspend_into(awaiter, other.handle()));
  CHECK(other.calls == 1);
}

TEST_CASE("callback_frame: one that is destroyed through its handle ends the program with one line") {
  const std::string written = coracle_test::abort_message([] {
    counting_frame frame;
    frame.handle().destroy();
  });
  CHECK(written == "coracle: plain code that waits for a coroutine was destroyed\n");
}
}  // namespace
