// coracle/core/detail/task_state.hpp -- a task's state: two words, and its result if that is larger.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/continuation.hpp>
#include <coracle/core/detail/folded_body.hpp>
#include <coracle/core/detail/stored_result.hpp>
#include <coracle/core/detail/task_frame.hpp>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <type_traits>

// Each word is reused once its previous content is no longer needed:
//
//   when                                 outcome_or_environment           parent_or_awaiter
//   the task was made                    -                                -
//   it is awaited: set_parent()          the environment; null: none      the awaiter's frame
//   its awaiter offers to fold it        "                                the awaited_task, with `folds`
//   `co_return value`                    the value, if it fits            ", and, checked, `has_returned`
//   an exception leaves the body         the error                        ", and `has_failed`
//   a stop request ends it               why                              "
//   the result was taken, if that is     "                                no frame; the marks stay
//   checked: sync_wait(), checked builds
//   it awaits a task, and exceptions    the environment                  the awaiter's frame, `has_failed`
//   are disabled                                                         until `co_return`
//
// The coroutine and its awaiter never run at the same time, so nothing here is atomic.
namespace coracle::detail {
/// The first word. A coroutine that has ended needs no environment, so its error, or its `Result` if that
/// fits, takes that place. Not read before it is set.
template <class Result>
class outcome_or_environment {
 public:
  outcome_or_environment() noexcept {}
  outcome_or_environment(const outcome_or_environment&) = delete;
  outcome_or_environment& operator=(const outcome_or_environment&) = delete;
  ~outcome_or_environment() {}

  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }
  void set_environment(const environment* inherited) noexcept { environment_ = inherited; }

  /// For a body that has returned.
  [[nodiscard]] Result& kept_result() noexcept { return result_; }
  /// Requires: it has an error.
  [[nodiscard]] const std::exception_ptr& kept_error() const noexcept { return error_; }
  /// Returns why it was stopped, or none if it has an error. Requires: one of the two.
  [[nodiscard]] stop_reason stopped_for() const noexcept { return failed_outcome::reason(word_); }

 protected:
  /// environment -> result: returns an empty one, for `co_return` to fill.
  [[nodiscard]] Result& result() noexcept { return *::new (static_cast<void*>(&result_)) Result; }
  /// environment or result -> error: the exception that is being handled.
  CORACLE_COLD() void keep_error() noexcept {
    ::new (static_cast<void*>(&error_)) std::exception_ptr(std::current_exception());
  }
  /// Drops the error, if that has not been done. Requires: there is or was one.
  CORACLE_COLD() void drop_error() noexcept {
    if (stopped_for() == stop_reason::none) error_ = nullptr;
  }

 private:
  union {
    const environment* environment_;
    Result result_;
    std::exception_ptr error_;
    std::uintptr_t word_;
  };
};

/// The second word: the frame that the task continues at its end, and how it ended. Not read before it is
/// set.
template <class T>
class CORACLE_FOLDING_ABI() parent_or_awaiter {
 public:
  using mark = task_mark;

  parent_or_awaiter() noexcept {}
  /// Returns the frame to continue, which the awaiter knows if the word refers to that instead; null after
  /// forget().
  [[nodiscard]] std::coroutine_handle<> get() const noexcept {
    if constexpr (may_fold<T>) {
      if (has(mark::folds)) [[unlikely]]
        return slot().parent();
    }
    return std::coroutine_handle<>::from_address(word_.pointer());
  }
  [[nodiscard]] bool has(mark which) const noexcept { return word_.has(which); }
  /// Requires: has `folds`.
  [[nodiscard]] fold_slot<T>& slot() const noexcept {
    return *static_cast<awaited_task<T>*>(word_.pointer());
  }

  template <class Promise>
    requires(ends_stopped<Promise> || promise_of_callback<Promise>)  // parent_bridge stands for any other
  void set(std::coroutine_handle<Promise> frame) noexcept {
    word_ = task_parent(frame.address());
  }
  void set(awaited_task<T>& awaiter) noexcept {
    word_ = task_parent(__builtin_addressof(awaiter), mark::folds);
  }
  void add(mark which) noexcept { word_.add(which); }
  void remove(mark which) noexcept { word_.remove(which); }
  /// Keeps only the marks.
  void forget() noexcept { word_.drop_pointer(); }

 private:
  union {  // not initialised
    task_parent word_;
  };
};

/// The first word also holds the result, if it fits.
template <class T>
using task_outcome = outcome_or_environment<std::conditional_t<fits_into_word<T>, value_only<T>, nothing>>;

/// Both words as the base of a promise, followed by storage for a result that does not fit.
template <class T>
class CORACLE_CHECKED_ABI() task_state : public continues_parent_by<task_outcome<T>, parent_or_awaiter<T>> {
  using base = continues_parent_by<task_outcome<T>, parent_or_awaiter<T>>;
  using mark = task_mark;
  static constexpr bool returns_over_environment = fits_into_word<T> && !std::is_void_v<T>;

 public:
  [[nodiscard]] const environment* get_environment() const noexcept {
    CORACLE_CHECK(
        !returns_over_environment || !this->parent_.has(mark::has_returned),
        "a task went on after `co_return value`: it caught what the destructor of a local threw then");
    return base::get_environment();
  }
  [[nodiscard]] bool has_error() const noexcept { return this->parent_.has(mark::has_failed); }
  /// In checked builds: returns true if the body has ended neither by `co_return` nor by an exception.
  [[nodiscard]] bool lacks_result() const noexcept {
    return !std::is_void_v<T> && !this->parent_.has(mark::has_returned) &&
           !(CORACLE_EXCEPTIONS() && has_error());
  }
  /// Called before it awaits a task, where exceptions are disabled: an error of that task ends this one.
  void fails_with_child() noexcept { this->parent_.add(mark::has_failed); }
  /// From here on parent() is null.
  void forget_parent() noexcept { this->parent_.forget(); }

  [[nodiscard]] bool has_fold_slot() const noexcept { return may_fold<T> && this->parent_.has(mark::folds); }
  /// Requires: has_fold_slot().
  [[nodiscard]] fold_slot<T>& slot() const noexcept { return this->parent_.slot(); }
  /// Requires: set_parent() was called immediately before.
  void take_fold_slot(awaited_task<T>& awaiter) noexcept { this->parent_.set(awaiter); }

  /// For a body that has returned.
  [[nodiscard]] value_only<T>& kept_result() noexcept {
    if constexpr (fits_into_word<T>) {
      return base::kept_result();
    } else {
      return result_;
    }
  }

 protected:
  /// The place in which `co_return` stores the value.
  [[nodiscard]] value_only<T>& result() noexcept {
    if constexpr (CORACLE_CHECKS()) this->parent_.add(mark::has_returned);
    if constexpr (!CORACLE_EXCEPTIONS()) this->parent_.remove(mark::has_failed);
    if constexpr (fits_into_word<T>) {
      return base::result();
    } else {
      return result_;
    }
  }
  void mark_failed() noexcept { this->parent_.add(mark::has_failed); }

 private:
  struct nothing_else {};
  [[no_unique_address]] std::conditional_t<fits_into_word<T>, nothing_else, value_only<T>> result_;
};

#if CORACLE_EXCEPTIONS()
/// Rethrows the error of a task and keeps it, or throws that it was stopped. Requires: one of the two. Not
/// [[noreturn]]: rethrow_stored().
CORACLE_COLD() void rethrow_error_of(const task_frame& body);
#else
CORACLE_THROWS_ABI() CORACLE_COLD() inline void rethrow_error_of(const task_frame& body) {
  if (const stop_reason why = failed_outcome::reason(body.outcome); why != stop_reason::none)
    throw_cancelled(why);
  const void* const error = &body.outcome;
  rethrow(*static_cast<const std::exception_ptr*>(error));
}
#endif
}  // namespace coracle::detail
