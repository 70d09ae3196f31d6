// coracle/base/check.hpp -- end the program when a precondition is violated.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <cstdio>

namespace coracle::detail {
#if defined(CORACLE_MODEL)
void fail_in_model(const char* message) noexcept;  // returns where no model_check() runs
#endif
/// Prints one line on stderr.
CORACLE_COLD() inline void print_message(const char* message) noexcept {
  std::fputs("coracle: ", stderr);
  std::fputs(message, stderr);
  std::fputs("\n", stderr);
}
/// Prints every coroutine and what it waits for; null in a program that does not link
/// inspect/live_coroutines.hpp.
[[gnu::weak]] void print_live_coroutines() noexcept;
/// Prints the message, and then what each coroutine waits for.
CORACLE_COLD() inline void print_deadlock(const char* message) noexcept {
  print_message(message);
  if (print_live_coroutines) print_live_coroutines();
}
/// Prints the message and ends the program.
CORACLE_FAILS() inline void fail(const char* message) noexcept {
#if defined(CORACLE_MODEL)
  fail_in_model(message);
#endif
  print_message(message);
  __builtin_abort();
}

/// The place where a coroutine's body ends: the default argument of its promise's `final_suspend`. Empty
/// without CORACLE_CHECKS().
class CORACLE_CHECKED_ABI() body_end {
 public:
#if CORACLE_CHECKS()
  static constexpr body_end here(const char* function = __builtin_FUNCTION(),
                                 const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) noexcept {
    return body_end(function, file, line);
  }
  /// Ends the program if the body has flowed off its end and so left no result in `promise`.
  template <class Promise>
  void require_result(const Promise& promise) const noexcept {
    if constexpr (requires { promise.lacks_result(); }) {
      if (promise.lacks_result()) [[unlikely]]
        fail_without_result();
    }
  }

 private:
  constexpr body_end(const char* function, const char* file, unsigned line) noexcept
      : function_(function), file_(file), line_(line) {}
  CORACLE_FAILS() void fail_without_result() const noexcept {
    char message[512];
    std::snprintf(
        message, sizeof message,
        "%s(), %s:%u, ended without co_return: a coroutine that returns a value needs one on every path",
        function_, file_, line_);
    fail(message);
  }

  const char* function_;
  const char* file_;
  unsigned line_;
#else
  static constexpr body_end here() noexcept { return {}; }
  template <class Promise>
  void require_result(const Promise&) const noexcept {}

 private:
  constexpr body_end() noexcept {}
#endif
};

/// Initialises the exception of a CORACLE_CATCH() that never runs.
struct no_exception {
  template <class T>
  [[noreturn]] operator const T&() const noexcept {  // NOLINT
    fail("a handler of exceptions ran without exceptions");
  }
};
}  // namespace coracle::detail

// Exceptions in code that must also compile with -fno-exceptions:
//
//     CORACLE_TRY() { result = f(); }
//     CORACLE_CATCH(const std::bad_alloc&, error) { ... }
//     CORACLE_CATCH_ALL() { ... }
//
// With exceptions disabled nothing is thrown: handlers are compiled but never run, and a throw ends the
// program with the message.
#if CORACLE_EXCEPTIONS()
#define CORACLE_TRY() try
#define CORACLE_CATCH(type, name) catch ([[maybe_unused]] type name)
#define CORACLE_CATCH_ALL() catch (...)
#define CORACLE_THROW(exception, message) throw exception
#define CORACLE_RETHROW() throw
#else
#define CORACLE_TRY() if constexpr (true)
#define CORACLE_CATCH(type, name) \
  else if ([[maybe_unused]] type name = ::coracle::detail::no_exception{}; false)
#define CORACLE_CATCH_ALL() else
#define CORACLE_THROW(exception, message) ::coracle::detail::fail(message)
#define CORACLE_RETHROW() ::coracle::detail::fail("an exception was rethrown without exceptions")
#endif

/// Checked in every build, so use it only where it costs nothing: in constructors and destructors, next to a
/// system call, off the fast path. The message says what is wrong and, after a colon, what to do.
#define CORACLE_REQUIRE(condition, message) ((condition) ? void() : ::coracle::detail::fail(message))
/// Checked in checked builds only: for checks on the fast path.
#if CORACLE_CHECKS()
#define CORACLE_CHECK(condition, message) ((condition) ? void() : ::coracle::detail::fail(message))
#else
#define CORACLE_CHECK(condition, message) void()
#endif
