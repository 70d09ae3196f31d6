// coracle/compose/scope_future.hpp -- the result of a child of a scope.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/scope_state.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

namespace coracle {
namespace detail {
/// A child that stores its result for a future, with which it shares ownership of itself.
template <class T>
class promised_child : public scope_future_child {
 public:
  using deleter = void(promised_child*);
  promised_child(function* over, deleter* deletes, scope_state& owner, std::source_location where) noexcept
      : scope_future_child(over, owner, where), delete_(deletes) {}

  [[nodiscard]] async_manual_reset_event& ended() noexcept { return over_; }
  [[nodiscard]] stop_reason cancelled() const noexcept { return end_.reason(); }
  /// Returns the result to the coroutine that awaits the future. Requires: over.
  T take() {
    if (end_.has_error()) [[unlikely]]
      take_error();
    CORACLE_REQUIRE(!end_.has_value() || !detail::exchange(is_settled, true),
                    "a scope_future was awaited twice: its result has been moved out");
    return std::move(end_).get();
  }
  /// As take(): returns the error, or null if there is none.
  [[nodiscard]] std::exception_ptr take_failure() noexcept {
    if (!end_.has_error()) return nullptr;
    if (!detail::exchange(is_settled, true)) this->scope().give_up(*this);
    return end_.error();
  }
  void drop_future() noexcept {
    if (!over_.is_set() || (end_.has_error() && !is_settled)) [[unlikely]]
      this->scope().drop_future(*this);
    release();
  }

 protected:
  /// `end_` is set, and everything else that the child held is destroyed.
  void deliver() noexcept {
    scope_state& owner = this->scope();
    if (end_.has_error()) [[unlikely]]
      return deliver_error();
    over_.set();
    owner.ended(*this, end_.is_cancelled());
    release();
  }
  outcome<T> end_;

 private:
  CORACLE_COLD() void deliver_error() noexcept {
    scope_state& owner = this->scope();
    error = end_.error();
    set_function(&dispose_of);
    keep();  // the list's reference
    if (owner.hold(*this)) {
      over_.set();
      owner.leave();
    } else {
      owner.failed(*this);  // the future was dropped: nothing waits for the error
    }
    release();
  }
  CORACLE_COLD() void take_error() {
    if (detail::exchange(is_settled, true)) {
      CORACLE_REQUIRE(is_held, "a scope_future was awaited twice: its error has been thrown");
      throw_cancelled(stop_reason::sibling_failed);  // join() has thrown the error
    }
    this->scope().give_up(*this);
  }
  static void dispose_of(scope_frame* self) { static_cast<promised_child*>(self)->release(); }

  void keep() noexcept { references_.fetch_add(1, memory_order_relaxed); } /*F1*/
  void release() noexcept {
    if (references_.fetch_sub(1, memory_order_acq_rel) == 1) delete_(this); /*F2*/
  }
  //   [F1] one more    relaxed  the caller has a reference already
  //   [F2] one less    acq_rel  the last one sees what the others did, then deletes
  atomic<std::uint32_t> references_{2};  // the child's, the future's, and after a failure a list's
  async_manual_reset_event over_;
  deleter* delete_;
};

/// Runs a child that has a future.
template <class Awaitable>
class promised_work final : public promised_child<kept_result_t<Awaitable>> {
  using base = promised_child<kept_result_t<Awaitable>>;

 public:
  promised_work(scope_state& owner, std::source_location where, Awaitable&& value)
      : base(&over, &delete_this, owner, where), work_(static_cast<Awaitable&&>(value)) {}
  ~promised_work() {}

  void run() noexcept {
    if (!work_.start(this->scope_frame::handle())) over(this);
  }
  static void over(scope_frame* self) noexcept {
    auto& mine = static_cast<promised_work&>(*self);
    if (mine.work_.finish()) [[likely]] {
      mine.end_.emplace_from([&mine]() -> kept_result_t<Awaitable> { return mine.work_.result(); });
    } else {
      detail::copy_failure(mine.work_.failure(), mine.end_);
    }
    mine.work_.~child();
    mine.deliver();
  }

 private:
  static void delete_this(base* self) { delete static_cast<promised_work*>(self); }

  union {
    child<Awaitable> work_;  // until it is over
  };
};
}  // namespace detail

/// The result of a child, from async_scope::spawn_future().
///
///     auto page = scope.spawn_future(download(url));
///     ...
///     show(co_await std::move(page));
///
/// May be dropped: the child continues, its value is destroyed, and its error becomes the scope's. So
/// `select(std::move(page), ...)` and `timeout(std::move(page), 1s)` lose the result of a child that is
/// slower: pass them `page.when_ready()`, and take the result afterwards.
/// Resumes on    the executor of the awaiting coroutine; without one, where the child ended.
/// Cancellation  a stop request ends the wait; the child continues, and the future can be awaited again.
/// Exceptions    the child's error, which then is no longer the scope's. An error that has not been awaited
///               when the scope is joined is thrown by join(), and the future then throws operation_cancelled
///               instead. It throws the same for a child that was cancelled.
/// Threads       used by one coroutine at a time: a child of the scope, or the coroutine that joins it.
/// Cost          one frame for each child, besides the child's own.
template <class T>
class scope_future {
 public:
  explicit scope_future(detail::promised_child<T>& child) noexcept : child_(&child) {}
  scope_future(scope_future&& other) noexcept : child_(detail::exchange(other.child_, nullptr)) {}
  scope_future& operator=(scope_future other) noexcept {
    detail::swap_values(child_, other.child_);
    return *this;
  }
  ~scope_future() {
    if (child_) child_->drop_future();
  }
  /// Returns true if the child has ended. Requires: not moved from.
  [[nodiscard]] bool is_ready() const noexcept {
    CORACLE_REQUIRE(child_, "an empty scope_future was asked whether it is ready: it was moved from");
    return child_->ended().is_set();
  }

  class wait_operation {
   public:
    explicit wait_operation(detail::promised_child<T>& child) noexcept
        : child_(child), over_(child.ended().operator co_await()) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
      return over_.await_suspend(suspended);
    }
    [[nodiscard]] stop_reason await_cancelled() noexcept {
      const stop_reason why = over_.await_cancelled();
      return why != stop_reason::none ? why : child_.cancelled();
    }
    [[nodiscard]] std::exception_ptr await_failure() noexcept { return child_.take_failure(); }
    T await_resume() {
      over_.await_resume();
      return child_.take();
    }

   private:
    detail::promised_child<T>& child_;
    async_manual_reset_event::wait_operation over_;
  };
  /// Returns an awaitable that waits for the child's end and returns nothing, not even its exception: the
  /// result stays for a later `co_await std::move(future)`.
  [[nodiscard("when_ready() does nothing until it is awaited")]] async_manual_reset_event::wait_operation
  when_ready() const noexcept {
    CORACLE_REQUIRE(child_, "an empty scope_future was awaited: it was moved from");
    return child_->ended().operator co_await();
  }
  /// Awaitable of the result, moved out: a second await after one that returned it, or threw the child's
  /// error, ends the program.
  wait_operation operator co_await() && noexcept {
    CORACLE_REQUIRE(child_, "an empty scope_future was awaited: it was moved from");
    return wait_operation{*child_};
  }

 private:
  detail::promised_child<T>* child_;
};
}  // namespace coracle
