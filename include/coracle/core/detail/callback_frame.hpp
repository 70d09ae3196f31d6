// coracle/core/detail/callback_frame.hpp -- a plain function as the continuation of a coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/transfer.hpp>
#include <coroutine>

namespace coracle {
class environment;

namespace detail {
/// Replaces the destroy function of other frames and identifies a callback_frame. A variable, because a
/// shared library may have its own copy of a function of the program, but not of such a variable.
class callback_mark {
 public:
  using function = void(void* frame);
  CORACLE_VISIBLE() static void refuse_destroy(void*) {
    fail("plain code that waits for a coroutine was destroyed");
  }
  /// The mark of a frame that continues a shared_frame, whose address its promise begins with.
  CORACLE_VISIBLE() static void refuse_destroy_of_member(void*) {
    fail("the continuation of one of several children was destroyed");
  }
  [[nodiscard]] static bool is_of_member(std::coroutine_handle<> handle) noexcept {
    return at(handle) == &refuse_destroy_of_member;
  }
  /// The mark of a frame with such a promise, unless the frame sets another.
  template <class Promise>
  static constexpr function* of() noexcept {
    if constexpr (requires { requires Promise::continues_a_member; }) return &refuse_destroy_of_member;
    return &refuse_destroy;
  }
  /// Returns true for a callback_frame that is not a shared_frame.
  [[nodiscard]] static bool is_at(std::coroutine_handle<> handle) noexcept {
    return at(handle) == &refuse_destroy || is_of_member(handle);
  }

 private:
  static function* at(std::coroutine_handle<> handle) noexcept {
    return static_cast<function* const*>(handle.address())[1];
  }
};
/// The promise of a frame that awaits but is no coroutine.
template <class Promise>
concept promise_of_callback = requires { requires Promise::is_of_callback; };

/// The promise of a callback_frame: passes an environment on to what it awaits.
class callback_promise {
 public:
  static constexpr bool is_of_callback = true;
  explicit callback_promise(const environment* inherited) noexcept : environment_(inherited) {}
  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }

 private:
  const environment* environment_;
};

/// Looks like a coroutine frame: resuming its handle calls a function, any number of times and from any
/// thread. Plain code can thus await without a coroutine, and many children can share one continuation.
/// Relies on the frame layout that g++, clang and MSVC share: the resume function, the destroy function, then
/// the promise. tests/unit/callback_frame_test.cpp checks it for each compiler.
template <class Promise>
class basic_callback_frame {
 public:
  using function = void(basic_callback_frame*);

  template <class... Args>
  explicit basic_callback_frame(function* on_resume, Args... for_promise) noexcept
      : promise_(for_promise...) {
    set_function(on_resume);
  }
  basic_callback_frame(const basic_callback_frame&) = delete;
  basic_callback_frame& operator=(const basic_callback_frame&) = delete;

  [[nodiscard]] std::coroutine_handle<Promise> handle() noexcept {
    return std::coroutine_handle<Promise>::from_address(this);
  }
  /// Sets the function that resuming the handle calls. Requires: no thread resumes it meanwhile.
  void set_function(function* on_resume) noexcept {
    CORACLE_HIDES_RESUMED(on_resume);
    resume_ = on_resume;
  }

 protected:
  Promise& promise() noexcept { return promise_; }
  const Promise& promise() const noexcept { return promise_; }
  void set_destroy_function(callback_mark::function* on_destroy) noexcept { destroy_ = on_destroy; }

 private:
  function* resume_;
  [[maybe_unused]] callback_mark::function* destroy_ = callback_mark::of<Promise>();
  [[no_unique_address]] Promise promise_;
};
/// A callback frame that passes an environment on.
using callback_frame = basic_callback_frame<callback_promise>;
}  // namespace detail
}  // namespace coracle
