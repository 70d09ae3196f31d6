// tests/probes/compiler_bugs.cpp -- does this compiler still have the bugs that CONTRIBUTING.md lists?
// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

// Each shape is correct C++ that a supported compiler miscompiles. The probe fails if a listed bug no longer
// shows, so that the workarounds in the library, its lint and its documents can go, and if a compiler shows a
// bug that is listed for another one only.
namespace {
/// Runs at once, up to its end.
struct eager {
  struct promise_type {
    eager get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    template <class T>
    std::suspend_never yield_value(const T&) const noexcept {
      return {};
    }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};
/// Runs when it is resumed. Its frame is aligned to 16 bytes, as operator new promises, and no better.
struct lazy {
  struct promise_type {
    static void* operator new(std::size_t size) {
      return static_cast<std::byte*>(std::aligned_alloc(64, (size + 16 + 63) / 64 * 64)) + 16;
    }
    static void operator delete(void* frame) { std::free(static_cast<std::byte*>(frame) - 16); }
    lazy get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> body;
};
template <class T>
struct ready {
  explicit ready(T value) noexcept : value_(value) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  T await_resume() const noexcept { return value_; }

 private:
  T value_;
};

/// Balances constructions and destructions.
struct counted {
  counted() noexcept { ++alive; }
  counted(const counted&) noexcept { ++alive; }
  ~counted() { --alive; }
  inline static int alive = 0;
};
struct aggregate {
  counted member;
};
template <class T>
ready<int> take(const T&) {
  return ready<int>{1};
}

// ---- g++ 12 ----

lazy awaits_in_a_condition(int* runs) {
  while (co_await ready<bool>{*runs == 0}) ++*runs;  // lint: intended
}
/// In a process of its own: where the body is missing, g++ leaves an illegal instruction.
bool a_body_does_not_run() {
  const pid_t child = fork();
  if (child == 0) {
    int runs = 0;
    awaits_in_a_condition(&runs).body.resume();
    _exit(runs == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

eager passes_an_aggregate() {
  static_cast<void>(co_await take(aggregate{}));  // lint: intended
}
bool an_aggregate_is_destroyed_twice() {
  counted::alive = 0;
  passes_an_aggregate();
  return counted::alive < 0;
}

eager yields_an_aggregate() {
  co_yield aggregate{};  // lint: intended
}
bool a_yielded_aggregate_is_destroyed_twice() {
  counted::alive = 0;
  yields_an_aggregate();
  return counted::alive < 0;
}

eager passes_a_lambda(const counted& one) {
  static_cast<void>(co_await take([one] { static_cast<void>(one); }));  // lint: intended
}
bool a_lambda_is_destroyed_twice() {
  counted::alive = 0;
  {
    const counted one;
    passes_a_lambda(one);
  }
  return counted::alive < 0;
}

eager passes_a_choice(bool which, const counted& one) {
  static_cast<void>(co_await take(which ? one : counted{}));  // lint: intended
}
bool a_choice_is_destroyed_twice() {
  counted::alive = 0;
  {
    const counted one;
    passes_a_choice(true, one);
  }
  return counted::alive < 0;
}

eager chooses_what_to_await(bool which, const ready<counted>& one) {
  const counted chosen = which ? co_await one : counted{};  // lint: intended
  static_cast<void>(chosen);
}
bool an_awaited_choice_is_destroyed_twice() {
  counted::alive = 0;
  {
    const ready<counted> one{counted{}};
    chooses_what_to_await(true, one);
  }
  return counted::alive < 0;
}

// ---- every g++ ----

struct number {
  explicit number(int of) noexcept : value(of) {}
  int value;
};
/// The await sets `value` to 1.
struct setting {
  explicit setting(int& set) noexcept : value(set) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept {
    value = 1;
    return false;
  }
  bool await_resume() const noexcept { return true; }
  int& value;
};
eager reads_behind_an_await(int& value, bool& found) {
  found = co_await setting{value} && number{value}.value == 1;  // lint: intended
}
bool a_temporary_is_evaluated_before_the_await() {
  int value = 0;
  bool found = false;
  reads_behind_an_await(value, found);
  return !found;
}

// ---- every supported compiler ----

[[gnu::noinline]] lazy has_an_aligned_local(std::uintptr_t* address) {
  struct alignas(64) line {
    char bytes[64];
  } volatile aligned{};
  co_await std::suspend_always{};
  const volatile void* hidden = &aligned;  // or the compiler takes the alignment for granted
  asm volatile("" : "+r"(hidden));
  *address = reinterpret_cast<std::uintptr_t>(hidden);
}
bool an_aligned_local_is_misaligned() {
  std::uintptr_t address = 0;
  const auto body = has_an_aligned_local(&address).body;
  body.resume();
  body.resume();
  body.destroy();
  return address % 64 != 0;
}

// ---- clang ----

#if defined(__cpp_exceptions)
struct rethrowing {
  struct promise_type {
    rethrowing get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const { throw; }
  };
  std::coroutine_handle<promise_type> body;
};
struct throws_on_resumption {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const { throw 1; }
};
rethrowing throws_after_a_suspension() {
  const counted local;
  co_await throws_on_resumption{};
}
bool locals_are_destroyed_twice() {
  counted::alive = 0;
  const auto body = throws_after_a_suspension().body;
  body.resume();
  try {
    body.resume();
  } catch (int) {
  }
  body.destroy();
  return counted::alive < 0;
}
#endif

int failures = 0;
void expect(bool has_it, bool should_have_it, const char* bug) {
  if (has_it == should_have_it) return;
  ++failures;
  std::printf(should_have_it ? "FAILED: gone with this compiler: %s: see CONTRIBUTING.md\n"
                             : "FAILED: this compiler has a bug of another: %s\n",
              bug);
}
}  // namespace

int main() {
#if defined(__clang__)
  constexpr bool is_gcc = false, is_listed = __clang_major__ == 19 || __clang_major__ == 22;
#else
  constexpr bool is_gcc = true, is_listed = __GNUC__ == 12;
#endif
  expect(a_temporary_is_evaluated_before_the_await(), is_gcc,
         "a temporary behind a co_await is evaluated before it");
  if (!is_listed) return failures == 0 ? 0 : 1;
  expect(a_body_does_not_run(), is_gcc, "co_await in a condition: the body does not run");
  expect(an_aggregate_is_destroyed_twice(), is_gcc, "an aggregate in a co_await is destroyed twice");
  expect(a_yielded_aggregate_is_destroyed_twice(), is_gcc, "an aggregate in a co_yield is destroyed twice");
  expect(a_lambda_is_destroyed_twice(), is_gcc, "a lambda in a co_await is destroyed twice");
  expect(a_choice_is_destroyed_twice(), is_gcc, "the result of ?: in a co_await is destroyed twice");
  expect(an_awaited_choice_is_destroyed_twice(), is_gcc,
         "the result of ?: with a co_await in it is destroyed twice");
  expect(an_aligned_local_is_misaligned(), true, "an over-aligned local is misaligned");
#if defined(__cpp_exceptions)
#if defined(__OPTIMIZE__)
  constexpr bool is_optimised = true;
#else
  constexpr bool is_optimised = false;
#endif
  expect(locals_are_destroyed_twice(), !is_gcc && is_optimised,
         "unhandled_exception() throws: locals are destroyed twice");
#endif
  if (failures == 0) std::puts("every listed bug shows");
  return failures == 0 ? 0 : 1;
}
