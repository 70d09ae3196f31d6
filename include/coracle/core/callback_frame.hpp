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
template <class Promise>
class basic_callback_frame {
 public:
  using function = void(basic_callback_frame*);

  template <class... Args>
  explicit basic_callback_frame(function* on_resume, Args... for_promise) noexcept
      : resume_(on_resume), promise_(for_promise...) {}
  basic_callback_frame(const basic_callback_frame&) = delete;
  basic_callback_frame& operator=(const basic_callback_frame&) = delete;

  [[nodiscard]] std::coroutine_handle<Promise> handle() noexcept {
    return std::coroutine_handle<Promise>::from_address(this);
  }
  /// What the handle calls from here on. Requires: nobody resumes it meanwhile.
  void set_function(function* on_resume) noexcept { resume_ = on_resume; }

 protected:
  Promise& promise() noexcept { return promise_; }
  const Promise& promise() const noexcept { return promise_; }

 private:
  static void refuse_destroy(basic_callback_frame*) {
    fail("plain code that waits for a coroutine was destroyed");
  }

  function* resume_;
  [[maybe_unused]] function* destroy_ = &refuse_destroy;
  Promise promise_;
};
/// One that passes on an environment.
using callback_frame = basic_callback_frame<callback_promise>;
}  // namespace detail
}  // namespace coracle
