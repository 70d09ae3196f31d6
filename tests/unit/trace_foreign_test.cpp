// tests/unit/trace_foreign_test.cpp -- traces of coroutines that are not coracle's.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coracle/exec/run_loop.hpp>
#include <coracle/inspect/trace.hpp>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "traced_tasks.hpp"

using namespace coracle;
using coracle_test::without_unit;

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
