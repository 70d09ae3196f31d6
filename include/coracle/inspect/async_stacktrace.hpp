// coracle/inspect/async_stacktrace.hpp -- the awaits that led to a coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coroutine>
#include <cstddef>
#include <string>

namespace coracle {
/// The chain of coroutines that await one another, innermost first.
///
///     const coracle::async_stacktrace trace = co_await coracle::this_task::stacktrace();
///     std::fputs(trace.to_string().c_str(), stderr);
///
/// The trace is read from the frames, which store the links anyway, and from the symbol table of the program:
/// for a stripped program there is only the first entry. A debugger also shows lines (docs/debugging.md).
/// Exceptions  none, except that to_string() allocates.
/// Threads     no thread may resume or destroy the coroutine while its trace is taken. One trace is taken at
///             a time; other callers wait.
/// Cost        no allocation; the files of the program are mapped the first time, then some system calls for
///             each entry.
class async_stacktrace {
 public:
  static constexpr std::size_t max_depth = 64;

  /// A coroutine, and the combinator between it and the next one.
  struct entry {
    const void* function = nullptr;  ///< its resume or destroy function, for a symbolizer
    const void* frame = nullptr;     ///< its frame, for a debugger; it may have ended
    const void* through =
        nullptr;  ///< the function that its end calls, as when_all()'s; null: none in between
  };

  async_stacktrace() noexcept = default;
  /// The trace of a coroutine that runs on this thread, or that is suspended and is not resumed meanwhile.
  [[nodiscard]] static async_stacktrace of(std::coroutine_handle<> coroutine) noexcept;

  [[nodiscard]] const entry* begin() const noexcept { return entries_; }
  [[nodiscard]] const entry* end() const noexcept { return entries_ + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const entry& operator[](std::size_t index) const noexcept { return entries_[index]; }
  /// Returns true if there are more than `max_depth`.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }

  /// Returns one line for each entry:
  ///
  ///     #0  parse  (server+0x3a10)
  ///     #1  load  (server+0x3c40)
  ///         through when_all()
  ///     #2  refresh  (server+0x3f00)
  ///         sync_wait()
  ///
  /// The numbers in parentheses are for addr2line, which prints where the functions are defined.
  [[nodiscard]] std::string to_string() const;

 private:
  entry entries_[max_depth];
  std::size_t size_ = 0;
  bool is_cut_off_ = false;
};

namespace detail {
class [[nodiscard]] read_stacktrace {
 public:
  constexpr read_stacktrace() noexcept {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> self) noexcept {
    self_ = self;
    return false;
  }
  async_stacktrace await_resume() const noexcept { return async_stacktrace::of(self_); }

 private:
  std::coroutine_handle<> self_;
};
}  // namespace detail

namespace this_task {
/// Awaitable of the caller's async_stacktrace. Never suspends.
[[nodiscard]] inline detail::read_stacktrace stacktrace() noexcept { return {}; }
}  // namespace this_task
}  // namespace coracle
