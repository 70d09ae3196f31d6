// coracle/compose/completion.hpp -- the completion object passed to a callback API.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/core/broken_promise.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/result.hpp>
#include <cstdint>
#include <memory>

namespace coracle {
template <class T>
class completion;

namespace detail {
class completion_dropped final : public broken_promise {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "an operation of from_callback dropped its completion without calling it";
  }
};
CORACLE_THROWS_ABI() CORACLE_FAILS() inline void throw_completion_dropped() {
  CORACLE_THROW(completion_dropped{},
                "an operation of from_callback dropped its completion without calling it");
}
/// What throw_completion_dropped() throws, for programs without exceptions.
[[nodiscard]] CORACLE_COLD() std::exception_ptr completion_dropped_error() noexcept;
/// In place of null, which std::make_exception_ptr() returns where exceptions and RTTI are disabled.
[[nodiscard]] CORACLE_COLD() std::exception_ptr unknown_error() noexcept;

/// Synchronises an operation of the API, the coroutine that waits for it and a stop request. It is part of
/// the awaiter.
//
// state_ is a set of three flags: is_suspended, the coroutine must be woken; is_completed; is_cancelling, the
// cancel function is running. The coroutine continues once the first two are set and the third is not: the
// thread whose transition leads to that state wakes it, and no thread accesses the meeting after its own last
// transition. A completion therefore never waits for a cancel function, nor a cancel function for a lock that
// the API holds around the completion. The waiter belongs to the coroutine until C3, then to the waking
// thread; result_ and how_ to the completing thread until C2, then to the coroutine; reason_ to the coroutine
// and, while is_cancelling is set, to the stop request.
//   [C1] load          relaxed  a hint that saves work: C3 decides
//   [C2] + completed   acq_rel  publish the result; see the waiter            pairs with C3, C5, C6; C3
//   [C3] + suspended   acq_rel  publish the waiter; see the result            pairs with C2, C5; C2
//   [C4] + cancelling  relaxed  unless completed; what initiate() wrote is seen by the stop token's lock
//   [C5] - cancelling  acq_rel  see the waiter and the result; publish the reason   pairs with C2, C3; C2
//                               what cancel wrote is seen by way of remove()
//   [C6] load          acquire  completed inside initiate(): see the result   pairs with C2
template <class T>
class callback_meeting : waiter, protected stop_registration {
 protected:
  explicit callback_meeting(stop_listener::callback* on_stop) noexcept : stop_registration(on_stop) {}
  callback_meeting(const callback_meeting&) = delete;
  callback_meeting& operator=(const callback_meeting&) = delete;
  ~callback_meeting() {
    this->remove();
    CORACLE_REQUIRE(!began_ || has(state_.load(memory_order_relaxed), is_completed),
                    "a coroutine was destroyed while it waits for an operation of from_callback: let that "
                    "complete first");
  }

  /// `end`: the coroutine's end_of_parent(). Returns true if the coroutine is ended.
  bool refuse(std::coroutine_handle<> suspended, end_of_task* end, stop_reason why) noexcept {
    reason_ = why;
    how_ = ending::cancelled;
    handle = suspended;
    end_ = end;
    return end_before_waiting();
  }
  void begin(std::coroutine_handle<> suspended, end_of_task* end) noexcept {
    began_ = true;
    end_ = end;
    suspend(suspended);
  }
  completion<T> make_completion() noexcept { return completion<T>{*this}; }
  void initiate_threw(std::exception_ptr error) noexcept { initiate_error_ = std::move(error); }
  /// Returns false if stop was requested meanwhile; the caller must then cancel.
  bool listen_to(const stop_token& token) noexcept {
    if (!has(state_.load(memory_order_relaxed), is_completed) && add_to(token)) return true; /*C1*/
    reason_ = token.reason();
    return has(state_.load(memory_order_relaxed), is_completed); /*C1*/
  }
  /// The last step of await_suspend(). Returns false if the operation has completed.
  bool has_to_wait() noexcept {
    if (state_.load(memory_order_acquire) != is_completed &&                   /*C6*/
        state_.fetch_or(is_suspended, memory_order_acq_rel) != is_completed) { /*C3*/
      return true;
    }
    return end_before_waiting() || (has_to_give_way() && detail::give_way(*this));
  }

  /// Returns false if the operation has completed and there is nothing to cancel.
  bool begin_cancelling() noexcept {
    unsigned seen = state_.load(memory_order_relaxed); /*C1*/
    do {
      if (has(seen, is_completed)) return false;
    } while (!state_.compare_exchange_weak(seen, seen | is_cancelling, memory_order_relaxed)); /*C4*/
    reason_ = why();
    return true;
  }
  void end_cancelling() noexcept {
    const unsigned before = state_.fetch_and(~is_cancelling, memory_order_acq_rel); /*C5*/
    if (before == (is_suspended | is_completed | is_cancelling)) end_or_wake();
  }

  /// Returns why there is neither a result nor an error, or none if there is one.
  stop_reason take_cancelled() noexcept {
    this->remove();
    return cancelled_for();
  }
  /// Returns what take() throws unless the operation was cancelled, or null.
  std::exception_ptr take_failure() noexcept {
    this->remove();
    if (initiate_error_) return initiate_error_;
    return how_ == ending::delivered ? result_.error() : completion_dropped_error();
  }
  T take() {
    this->remove();
    if (initiate_error_) [[unlikely]]
      rethrow(initiate_error_);
    if (how_ != ending::delivered) [[unlikely]]
      throw_ending();
    return std::move(result_).get();
  }

 private:
  friend completion<T>;
  enum class ending : std::uint8_t { delivered, cancelled, dropped };
  static constexpr unsigned is_suspended = 1, is_completed = 2, is_cancelling = 4;
  static bool has(unsigned state, unsigned flag) noexcept { return (state & flag) != 0; }

  /// Called once, by the completion.
  void complete(ending how) noexcept {
    how_ = how;
    if (state_.fetch_or(is_completed, memory_order_acq_rel) == is_suspended) end_or_wake(); /*C2*/
  }
  [[nodiscard]] stop_reason cancelled_for() const noexcept {
    if (how_ == ending::delivered || initiate_error_) [[likely]]
      return stop_reason::none;
    if (reason_ != stop_reason::none) return reason_;
    return how_ == ending::cancelled ? stop_reason::requested : stop_reason::none;
  }
  /// Returns true if the operation was cancelled and a task is ended when it is resumed.
  bool ends_task() noexcept {
    const stop_reason why = cancelled_for();
    return why != stop_reason::none && end_ && end_(handle, why);
  }
  bool end_before_waiting() noexcept {
    if (!ends_task()) [[likely]]
      return false;
    resume_on_return(handle);
    return true;
  }
  void end_or_wake() noexcept {
    static_cast<void>(ends_task());
    wake();
  }
  CORACLE_FAILS() void throw_ending() {
    const stop_reason why = cancelled_for();
    if (why != stop_reason::none) throw_cancelled(why);
    throw_completion_dropped();
  }

  atomic<unsigned> state_{0};
  plain<ending> how_ = ending::delivered;
  plain<stop_reason> reason_ = stop_reason::none;
  bool began_ = false;
  end_of_task* end_ = nullptr;
  plain<outcome<T>> result_;
  std::exception_ptr initiate_error_;
};
}  // namespace detail

/// Reports the end of an operation of from_callback<T>; to be called exactly once.
///
///     coracle::from_callback<int>([&](coracle::completion<int> done) {
///       api.read([done = std::move(done)](int error, int n) mutable {
///         error ? done.fail(to_exception(error)) : done(n);
///       });
///     });
///
/// If it is dropped without being called, the await ends with broken_promise, or with operation_cancelled if
/// a stop request had the operation cancelled. copyable() serves an API that copies its callback, release() a
/// C API.
/// Threads  one at a time; any thread may call it, even inside `initiate`.
/// Cost     one pointer.
template <class T = void>
class [[nodiscard("a completion that is dropped ends the operation as broken")]] completion {
  template <class... Args>
  static constexpr bool accepts =
      std::is_void_v<T> ? sizeof...(Args) == 0 : sizeof...(Args) != 0 && std::is_constructible_v<T, Args...>;

 public:
  completion(completion&& other) noexcept : meeting_(detail::exchange(other.meeting_, nullptr)) {}
  completion& operator=(completion&& other) noexcept {
    completion(std::move(other)).swap(*this);
    return *this;
  }
  ~completion() {
    if (meeting_) meeting_->complete(meeting::ending::dropped);
  }
  void swap(completion& other) noexcept { detail::swap_values(meeting_, other.meeting_); }
  /// Returns false if it was called or moved from.
  [[nodiscard]] explicit operator bool() const noexcept { return meeting_ != nullptr; }

  /// The operation has succeeded: the await returns a `T` made from `args`, or throws what making it throws.
  template <class... Args>
    requires(accepts<Args...>)
  void operator()(Args&&... args) noexcept {
    meeting& ended = use();
    CORACLE_TRY() { ended.result_.emplace(static_cast<Args&&>(args)...); }
    CORACLE_CATCH_ALL() { ended.result_.emplace_current_exception(); }
    ended.complete(meeting::ending::delivered);
  }
  template <class... Args>
    requires(accepts<Args...>)
  void operator()(Args&&...) const noexcept {
    static_assert(detail::never<Args...>,
                  "this completion is const, and can be called only once: a lambda that captures it by value "
                  "must be mutable: [done = std::move(done)](int n) mutable { done(n); }");
  }
  /// The operation has failed: the await throws `error`. Requires: not null. A program without exceptions has
  /// errors only from the library; for its own let `T` be an expected.
  CORACLE_THROWS_ABI() void fail(std::exception_ptr error) noexcept {
    if constexpr (CORACLE_EXCEPTIONS()) {
      CORACLE_REQUIRE(
          error, "fail() of a completion with a null exception_ptr: pass the error, or call cancelled()");
    } else if (!error) {
      error = detail::unknown_error();
    }
    meeting& ended = use();
    ended.result_.emplace_error(std::move(error));
    ended.complete(meeting::ending::delivered);
  }
  /// The operation was not carried out because of the request: the await throws operation_cancelled.
  void cancelled() noexcept { use().complete(meeting::ending::cancelled); }

  /// For an API that passes a `void*`: from() turns it back into a completion, once.
  [[nodiscard("what is released must be given to from() once")]] void* release() noexcept { return &use(); }
  static completion from(void* released) noexcept { return completion{*static_cast<meeting*>(released)}; }

  class shared;
  /// For an API that stores its callback in a std::function. Allocates once.
  [[nodiscard]] shared copyable() && { return shared{std::move(*this)}; }

 private:
  using meeting = detail::callback_meeting<T>;
  friend meeting;
  explicit completion(meeting& awaited) noexcept : meeting_(&awaited) {}
  meeting& use() noexcept {
    CORACLE_REQUIRE(meeting_,
                    "an operation of from_callback was completed twice, or by a completion moved from");
    return *detail::exchange(meeting_, nullptr);
  }

  meeting* meeting_;
};

/// Any number of copies of one completion, exactly one of which is called, once. When the last copy is
/// dropped, the completion is.
template <class T>
class completion<T>::shared {
 public:
  explicit shared(completion&& only) : only_(std::make_shared<completion>(std::move(only))) {}
  template <class... Args>
    requires std::is_invocable_v<completion&, Args...>
  void operator()(Args&&... args) const noexcept {
    (*only_)(static_cast<Args&&>(args)...);
  }
  void fail(std::exception_ptr error) const noexcept { only_->fail(std::move(error)); }
  void cancelled() const noexcept { only_->cancelled(); }

 private:
  std::shared_ptr<completion> only_;
};
}  // namespace coracle
