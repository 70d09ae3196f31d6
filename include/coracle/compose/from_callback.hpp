// coracle/compose/from_callback.hpp -- await an operation that completes by calling a function.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/completion.hpp>
#include <type_traits>

namespace coracle {
namespace detail {
struct cannot_cancel {};

/// Waits for one operation of the API. Created by `co_await`, and never moved.
template <class T, class Initiate, class Cancel>
class callback_awaiter : callback_meeting<T> {
  using meeting = callback_meeting<T>;
  static constexpr bool can_cancel = !std::is_same_v<Cancel, cannot_cancel>;

 public:
  callback_awaiter(Initiate&& initiate,
                   Cancel&& cancel) noexcept(std::is_nothrow_move_constructible_v<Initiate> &&
                                             std::is_nothrow_move_constructible_v<Cancel>)
      : meeting(&stop_requested),
        initiate_(static_cast<Initiate&&>(initiate)),
        cancel_(static_cast<Cancel&&>(cancel)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    const environment* const inherited = detail::environment_of(suspended);
    if (inherited && inherited->stop.stop_requested()) [[unlikely]] {
      return this->refuse(suspended, end_of_parent<Promise>(), inherited->stop.reason());
    }
    this->begin(suspended, end_of_parent<Promise>());
    initiate();
    if constexpr (can_cancel) {
      if (inherited && !this->listen_to(inherited->stop)) cancel_();
    }
    return this->has_to_wait();
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept { return this->take_cancelled(); }
  [[nodiscard]] std::exception_ptr await_failure() noexcept { return this->take_failure(); }
  T await_resume() { return this->take(); }

 private:
  void initiate() noexcept {
    CORACLE_TRY() { initiate_(this->make_completion()); }
    CORACLE_CATCH_ALL() { this->initiate_threw(std::current_exception()); }
  }
  static void stop_requested(stop_listener& listener) noexcept {
    auto& self = static_cast<callback_awaiter&>(static_cast<stop_registration&>(listener));
    if constexpr (can_cancel) {
      if (!self.begin_cancelling()) return;
      self.cancel_();
      self.end_cancelling();
    }
  }

  Initiate initiate_;
  [[no_unique_address]] Cancel cancel_;
};

template <class T, class Initiate, class Cancel>
class [[nodiscard("nothing is initiated until this is awaited")]] callback_operation {
 public:
  callback_operation(Initiate initiate, Cancel cancel)
      : initiate_(static_cast<Initiate&&>(initiate)), cancel_(static_cast<Cancel&&>(cancel)) {}
  callback_awaiter<T, Initiate, Cancel> operator co_await() && noexcept(
      std::is_nothrow_constructible_v<callback_awaiter<T, Initiate, Cancel>, Initiate, Cancel>) {
    return {static_cast<Initiate&&>(initiate_), static_cast<Cancel&&>(cancel_)};
  }

 private:
  Initiate initiate_;
  [[no_unique_address]] Cancel cancel_;
};

template <class T, class Initiate>
inline constexpr bool initiates = std::is_invocable_v<std::decay_t<Initiate>&, completion<T>>;
}  // namespace detail

/// An awaitable of `T` from a callback API: `initiate` starts the operation and passes it the completion<T>,
/// `cancel` requests that it end early.
///
///     const auto start = [&](auto done) { api.start_add(1, 2, std::move(done)); };  // the API calls done(3)
///     const auto cancel = [&] { api.cancel_add(); };
///     int sum = co_await coracle::from_callback<int>(start, cancel);
///
/// Give a capturing lambda a name, as here: if it is a temporary in a co_await, g++ 12 destroys its captures
/// twice. `T` may be void, with `done()`, or a reference. Both functions are moved in and live until the
/// await is over. Prefer a oneshot channel where the coroutine should continue while the operation runs: here
/// it never does.
/// Order         `initiate` runs inside the `co_await`, and may call `done`.
/// Resumes on    the executor on which it suspended; outside any executor, inside done(). If `done` is called
///               inside `initiate`, it does not suspend.
/// Cancellation  before: nothing is initiated. During: `cancel` is called once, on the thread that requests
///               the stop, unless the operation has completed. The await ends when the operation does, since
///               that may use the coroutine's variables until then, and has the outcome that it reports:
///               done(value) its value, done.cancelled(), or a dropped `done`, operation_cancelled. Without
///               `cancel` a stop request during the operation has no effect. After: no effect.
/// Exceptions    those given to done.fail(); broken_promise if `done` was dropped without a stop request; one
///               that leaves `initiate`, once `done` has been called or dropped. `cancel` must not throw.
/// Threads       `cancel` may run while the operation completes on another thread, after `initiate` has
///               returned, and never after the coroutine has continued. It may call `done` itself.
/// Cost          no allocation; two atomic operations, and a lock of the stop token if there is one.
template <class T = void, class Initiate, class Cancel = detail::cannot_cancel>
  requires(detail::initiates<T, Initiate>)
auto from_callback(Initiate&& initiate, Cancel&& cancel = {}) {
  static_assert(
      detail::fits_into_frame<T>,
      "compilers misalign over-aligned objects in coroutine frames: complete with a std::unique_ptr");
  return detail::callback_operation<T, std::decay_t<Initiate>, std::decay_t<Cancel>>{
      static_cast<Initiate&&>(initiate), static_cast<Cancel&&>(cancel)};
}
template <class T = void, class Initiate, class Cancel = detail::cannot_cancel>
auto from_callback(Initiate&&, Cancel&& = {}) {
  static_assert(detail::initiates<T, Initiate>,
                "from_callback<T>(initiate, cancel) needs a function that takes a coracle::completion<T>: "
                "[&](auto done) { start(std::move(done)); }");
  return detail::any_awaiter{};
}
}  // namespace coracle
