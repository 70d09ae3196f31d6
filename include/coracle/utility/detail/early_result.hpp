// coracle/utility/detail/early_result.hpp -- parts of coroutines that return a plain object and may end
// early.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <utility>

namespace coracle::detail {
/// What get_return_object of such a promise returns. The compiler converts it to the function's return type
/// once the body has suspended for the last time; the conversion destroys the frame.
///
/// It has a destructor only where it keeps the frame after an exception. clang 22 stores this object in the
/// frame, so destroying the frame would run the destructor. There, if something throws, the compiler itself
/// destroys the frame: after the body and, except for clang 19, after this conversion. With clang 19 the
/// frame leaks if moving the result throws.
template <class Promise>
class early_result {
 public:
  using result_type = typename Promise::result_type;

  explicit early_result(std::coroutine_handle<Promise> body) noexcept : body_(body) {}
  early_result(const early_result&) = delete;
  early_result& operator=(const early_result&) = delete;
#if CORACLE_KEEPS_FRAME_AFTER_EXCEPTION()
  ~early_result() {
    if (body_) body_.destroy();
  }
#else
  ~early_result() = default;
#endif

  operator result_type() {
    const std::coroutine_handle<Promise> body = body_;
    if (!body.done() && !body.promise().ended_early()) [[unlikely]] {
      fail("this compiler converts the result of get_return_object() before the coroutine's body has run");
    }
    result_type result(body.promise().take());
    body_ = nullptr;
    body.destroy();
    return result;
  }

 private:
  std::coroutine_handle<Promise> body_;
};

/// Records in checked builds whether there is a result.
template <class Result, bool IsChecked = CORACLE_CHECKS()>
class early_state : public result_of_coroutine<Result, part::rethrows_errors> {};
template <class Result>
class early_state<Result, true> : public result_of_coroutine<Result, part::rethrows_errors> {
 public:
  [[nodiscard]] bool lacks_result() const noexcept { return !returned_; }

 protected:
  [[nodiscard]] auto& result() noexcept {
    returned_ = true;
    return this->result_;
  }

 private:
  bool returned_ = false;
};
template <class Result>
using early_returns = returns_into<Result, early_state<Result>>;

/// The promise of a coroutine that returns a `Result`, except for await_transform.
template <class Result, class Returns = early_returns<Result>>
class early_result_promise : public Returns,
                             public part::starts_eagerly,
                             public part::stays_at_end,
                             public recycled_frames {
 public:
  using result_type = Result;

  early_result<early_result_promise> get_return_object() noexcept {
    using handle = std::coroutine_handle<early_result_promise>;
    return early_result<early_result_promise>(handle::from_promise(*this));
  }
  /// Call in await_suspend: the body is not resumed again, and the coroutine returns `Result(args...)`.
  template <class... Args>
  void end_early(Args&&... args) noexcept(std::is_nothrow_constructible_v<Result, Args...>) {
    this->result_.emplace(static_cast<Args&&>(args)...);
    ended_early_ = true;
  }
  bool ended_early() const noexcept { return ended_early_; }

 private:
  bool ended_early_ = false;
};
}  // namespace coracle::detail
