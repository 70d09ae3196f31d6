// coracle/core/detail/callback_frame.hpp -- a plain function as the continuation of a coroutine.
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
      : promise_(for_promise...) {
    set_function(on_resume);
  }
  basic_callback_frame(const basic_callback_frame&) = delete;
  basic_callback_frame& operator=(const basic_callback_frame&) = delete;

  [[nodiscard]] std::coroutine_handle<Promise> handle() noexcept {
    return std::coroutine_handle<Promise>::from_address(this);
  }
  /// What the handle calls from here on. Requires: nobody resumes it meanwhile.
  void set_function(function* on_resume) noexcept {
    CORACLE_HIDES_RESUMED(on_resume);
    resume_ = on_resume;
  }

 protected:
  Promise& promise() noexcept { return promise_; }
  const Promise& promise() const noexcept { return promise_; }
  void set_destroy_function(function* on_destroy) noexcept { destroy_ = on_destroy; }

 private:
  static void refuse_destroy(basic_callback_frame*) {
    fail("plain code that waits for a coroutine was destroyed");
  }

  function* resume_;
  [[maybe_unused]] function* destroy_ = &refuse_destroy;
  [[no_unique_address]] Promise promise_;
};
/// One that passes on an environment.
using callback_frame = basic_callback_frame<callback_promise>;

/// The promise of a frame that is the continuation of many tasks, and could not tell which of them has ended. So each
/// that ends with an exception says so, while that is being handled, before it resumes the frame.
class shared_promise {
 public:
  /// `task` is the address of its frame.
  using failure = void(shared_promise& self, const void* task) noexcept;
  explicit shared_promise(failure* on_failure) noexcept : on_failure_(on_failure) {}

  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }
  void set_environment(const environment* inherited) noexcept { environment_ = inherited; }

  /// For a task that has failed: tells its parent, if that is such a frame.
  static void tell(std::coroutine_handle<> parent, const void* task) noexcept;

 private:
  failure* on_failure_;
  const environment* environment_;  // not read before it is set
};
/// It is known by its destroy function.
class shared_frame : public basic_callback_frame<shared_promise> {
 public:
  shared_frame(function* on_resume, shared_promise::failure* on_failure) noexcept
      : basic_callback_frame(on_resume, on_failure) {
    set_destroy_function(mark);
  }
  [[nodiscard]] static bool is_one(std::coroutine_handle<> handle) noexcept {
    return static_cast<function* const*>(handle.address())[1] == mark;
  }

 private:
  // Says something else than that of other frames, so that no linker makes one function of the two.
  static void refuse_destroy(basic_callback_frame*) {
    fail("plain code that waits for several coroutines was destroyed");
  }
  // A shared library can have a function of its own where the program has one, too, but not such a variable.
  CORACLE_VISIBLE() static inline constinit function* mark = &refuse_destroy;
};
inline void shared_promise::tell(std::coroutine_handle<> parent, const void* task) noexcept {
  if (!shared_frame::is_one(parent)) return;
  auto& promise = std::coroutine_handle<shared_promise>::from_address(parent.address()).promise();
  promise.on_failure_(promise, task);
}
}  // namespace detail
}  // namespace coracle
