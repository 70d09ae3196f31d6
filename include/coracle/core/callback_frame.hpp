// coracle/core/callback_frame.hpp -- a plain function that can be the continuation of a coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/transfer.hpp>
#include <coroutine>

namespace coracle {
class environment;

namespace detail {
/// The promise of a callback_frame: passes an environment on to what it awaits.
class callback_promise {
 public:
  explicit callback_promise(const environment* inherited) noexcept : environment_(inherited) {}
  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }

 private:
  const environment* environment_;
};

/// Looks like a coroutine frame: resuming its handle calls a function, any number of times and from any
/// thread. So plain code can await without a coroutine, and many children can share one continuation.
/// Rests on the frame layout that g++, clang and MSVC share: the resume function, the destroy function, then
/// the promise. tests/unit/callback_frame_test.cpp holds each compiler to it.
class callback_frame {
 public:
  using function = void(callback_frame*);

  callback_frame(function* on_resume, const environment* inherited) noexcept
      : resume_(on_resume), promise_(inherited) {}
  callback_frame(const callback_frame&) = delete;
  callback_frame& operator=(const callback_frame&) = delete;

  [[nodiscard]] std::coroutine_handle<callback_promise> handle() noexcept {
    return std::coroutine_handle<callback_promise>::from_address(this);
  }

 private:
  static void refuse_destroy(callback_frame*) { fail("plain code that waits for a coroutine was destroyed"); }

  [[maybe_unused]] function* resume_;
  [[maybe_unused]] function* destroy_ = &refuse_destroy;
  callback_promise promise_;
};
}  // namespace detail
}  // namespace coracle
