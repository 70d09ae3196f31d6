// coracle/compose/detail/scope_state.hpp -- the state of an async_scope.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/intrusive_list.hpp>
#include <coracle/base/locked_word.hpp>
#include <coracle/compose/detail/parent_of_children.hpp>
#include <coracle/compose/scope_policy.hpp>
#include <coracle/core/detail/nested_starts.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace coracle::detail {
class scope_state;

/// A child, from its spawn() to its end or, if it has failed, until its error has been taken. It is the
/// continuation of the work that it runs; resumed at the end of that work, it destroys itself.
using scope_frame = basic_callback_frame<member_promise<scope_state>>;
struct scope_child : scope_frame, waiter, recycled_frames {
  scope_child(function* on_resume, scope_state& owner, std::source_location where) noexcept
      : scope_frame(on_resume, &owner), spawned_at(where) {}
  [[nodiscard]] scope_state& scope() noexcept { return *promise().together; }

  plain<plain<resumption*>*> link;  // the pointer to this child in a list of the scope
  std::source_location spawned_at;
  std::exception_ptr error;
};
inline void dispose(scope_child& ended) { ended.scope_frame::handle().resume(); }

/// A child whose error belongs to a future, until the future is dropped or the scope is joined.
struct scope_future_child : scope_child {
  using scope_child::scope_child;
  plain<bool> is_held = false;     // scope's lock: it is in held_
  plain<bool> is_dropped = false;  // scope's lock: there is no future any more
  // The error has been taken. Only the coroutines that are being joined write and read this, one after the
  // other.
  plain<bool> is_settled = false;
};

class scope_state : shared_frame {
 public:
  scope_state(scope_policy policy, const parent_of_children& parent)
      : shared_frame(&never_resumed, &functions),
        policy_(std::move(policy)),
        outer_(parent.inherited()),
        children_inherit_(outer_),
        above_(parent.frame()) {
    promise().set_environment(&children_inherit_);
  }
  scope_state(const scope_state&) = delete;
  scope_state& operator=(const scope_state&) = delete;
  ~scope_state();

  using shared_frame::inherited_by_children;
  [[nodiscard]] const stop_token& stop_of_children() const noexcept { return children_inherit_.stop; }
  bool request_stop(stop_reason why) noexcept { return children_inherit_.request_stop(why); }

  // ---- children ----

  /// Called before `arriving` is started or put off; started() follows.
  void add(scope_child& arriving, bool starts_now) noexcept {
    const std::size_t seen = word_.lock();
    CORACLE_CHECK(
        seen != 0,
        "spawn() into an async_scope that has been joined: spawn before that, or from its children");
    if (starts_now) running_.push(arriving);
    word_.unlock(seen + one);
  }
  void started(scope_child& late) noexcept {
    const std::size_t seen = word_.lock();
    running_.push(late);
    word_.unlock(seen);
  }
  /// Called when a child without an error, or whose error has been taken, has ended; the caller then disposes
  /// of the child.
  void ended(scope_child& child, bool was_cancelled) noexcept {
    const std::size_t seen = word_.lock();
    running_.remove(child);
    if (was_cancelled) any_cancelled_ = true;
    leave(seen);
  }
  /// Takes over a child that has an error.
  CORACLE_COLD() void failed(scope_child& child) noexcept {
    std::size_t seen = word_.lock();
    running_.remove(child);
    if (!policy_.on_error()) failed_.push(child);
    word_.unlock(seen);
    report(child);
    leave(word_.lock());
  }

  // ---- children with a future ----

  /// Keeps the error for the future, or for join(); leave() must follow. Returns false if the future was
  /// dropped.
  CORACLE_COLD() bool hold(scope_future_child& child) noexcept {
    const std::size_t seen = word_.lock();
    const bool holds = !child.is_dropped;
    if (holds) {
      running_.remove(child);
      held_.push(child);
      child.is_held = true;
    }
    word_.unlock(seen);
    return holds;
  }
  CORACLE_COLD() void leave() noexcept { leave(word_.lock()); }
  /// The future is dropped: an error that it held becomes the scope's.
  CORACLE_COLD() void drop_future(scope_future_child& child) noexcept {
    const std::size_t seen = word_.lock();
    child.is_dropped = true;
    const bool failed = std::exchange(child.is_held, false);
    if (failed) {
      held_.remove(child);
      if (!policy_.on_error()) failed_.push(child);
    }
    word_.unlock(seen);
    if (failed) report(child);
  }
  /// The future passes its error to its awaiter.
  CORACLE_COLD() void give_up(scope_future_child& child) noexcept {
    const std::size_t seen = word_.lock();
    held_.remove(child);
    word_.unlock(seen);
    dispose(child);
  }

  // ---- the joiner ----

  /// Returns the stop token of `joiner`, which its join observes, or null; join() follows.
  template <class Promise>
  const stop_token* begin_join(std::coroutine_handle<Promise> joiner) noexcept {
    CORACLE_REQUIRE(!joiner_.handle, "join() of an async_scope was awaited twice: await it once");
    joiner_.suspend(joiner);
    joiner_is_ = awaiting_frame::kind_of<Promise>;
    const environment* const its = environment_of(joiner);
    if (its) joined_under_ = &its->stop;
    return its ? &its->stop : nullptr;
  }
  [[nodiscard]] bool inherits(const stop_token& stop) const noexcept { return stop == outer_.stop; }
  /// Stop was requested before the join.
  void joined_too_late() noexcept {
    too_late_ = true;
    stopped_by_joiner_.store(true, memory_order_release); /*C2*/
    request_stop(joined_under_->reason());
  }
  void joiner_stopped(stop_reason why) noexcept {
    stopped_by_joiner_.store(true, memory_order_release); /*C2*/
    children_inherit_.request_linked(why);
  }
  /// Returns false if there are no children and the joiner continues at once.
  bool join() noexcept {
    const std::size_t seen = word_.lock();
    word_.unlock(seen - one);
    if (seen != one) return true;
    if (joiner_ends_stopped()) {
      resume_on_return(joiner_.handle);
      return true;
    }
    return has_to_give_way() && give_way(joiner_);
  }
  [[nodiscard]] bool has_errors() const noexcept { return !(failed_.empty() && held_.empty()); }
  /// Returns the reason of the request from outside that has cancelled the join, or none.
  [[nodiscard]] stop_reason join_cancelled() const noexcept {
    if (has_errors() || !(too_late_ || any_cancelled_)) return stop_reason::none;
    return joined_under_->reason();
  }
  [[noreturn]] void throw_errors();

 private:
  static constexpr std::size_t one = 2;

  /// Called with the lock held, and releases it. The scope may be gone afterwards.
  void leave(std::size_t seen) noexcept {
    word_.unlock(seen - one);
    if (seen != one) return;
    static_cast<void>(joiner_ends_stopped());
    if (joiner_.home == current_executor()) {
      resume_on_return(joiner_.handle);
    } else {
      joiner_.wake();
    }
  }
  /// If the join was cancelled and the joiner is a task, has it ended when it is resumed, unless it must
  /// throw. Called when no child is left.
  [[nodiscard]] bool joiner_ends_stopped() noexcept {
    if (!(too_late_ || any_cancelled_)) [[likely]]
      return false;
    return joiner_is_ == awaiting_frame::kind::task && end_stopped_joiner();
  }
  CORACLE_COLD() bool end_stopped_joiner() noexcept {
    const stop_reason why = join_cancelled();
    return why != stop_reason::none && stopped_parent::note(joiner_.handle, why);
  }
  static awaiting_frame above(shared_promise& self, stop_reason why) noexcept {
    auto& mine = static_cast<scope_state&>(from(self));
    if (mine.stopped_by_joiner_.load(memory_order_acquire)) /*C3*/
      return {std::coroutine_handle<>(mine.joiner_.handle).address(), mine.joiner_is_};
    if (mine.children_inherit_.has_dropped(why)) return {nullptr, awaiting_frame::kind::quiet};
    return mine.above_;
  }
  static constexpr shared_promise::functions functions{&shared_promise::ignore_failure, &above};

  void report(scope_child& child) noexcept {
    if (policy_.on_error()) {
      policy_.on_error()(child.error);
      dispose(child);
    } else if (policy_.stops_siblings()) {
      request_stop(stop_reason::sibling_failed);
    }
  }
  [[nodiscard]] std::size_t running() const noexcept {
    return word_.load(memory_order_relaxed) /*C1*/ / one - (joiner_.handle ? 0 : 1);
  }
  [[noreturn]] void report_running() noexcept;

  // The word is twice the number of children that have not ended, plus two until join() is awaited. The
  // thread that takes it to zero continues the joiner; after that no other thread accesses the scope. joiner_
  // belongs to join() until it releases the lock, then to the thread that takes the word to zero. The lists
  // and any_cancelled_ are guarded by the lock, then belong to the joiner.
  //   [C1] load   relaxed  for a check in the destructor
  //   [C2] store  release  publishes joiner_ to the children that the joiner stops   pairs with C3
  //   [C3] load   acquire  sees joiner_, if it is set                                pairs with C2
  const scope_policy policy_;
  const environment outer_;
  subtree children_inherit_;
  const awaiting_frame above_;
  locked_word<std::size_t> word_{one};
  intrusive_list<scope_child> running_;
  intrusive_list<scope_child> failed_;       // oldest error first
  intrusive_list<scope_future_child> held_;  // errors that belong to a future
  waiter joiner_;
  plain<awaiting_frame::kind> joiner_is_ = awaiting_frame::kind::other;
  plain<const stop_token*> joined_under_ = &outer_.stop;  // the joiner's own, if it has one
  atomic<bool> stopped_by_joiner_{false};
  plain<bool> too_late_ = false;
  plain<bool> any_cancelled_ = false;
  bool reported_ = false;
};

/// Runs `child` until it first suspends, or puts that off. It may be gone on return. A Work is a scope_child
/// with run() and the callback over().
template <class Work>
void start_in_scope(Work& child) noexcept {
  nested_start nested;
  const bool now = !nested.too_deep();
  child.scope().add(child, now);
  if (now) [[likely]]
    return child.run();
  child.set_function([](scope_frame* self) {
    auto& late = static_cast<Work&>(*self);
    late.set_function(&Work::over);
    late.scope().started(late);
    late.run();
  });
  child.suspend(child.scope_frame::handle());
  nested.put_off(child);
}

inline scope_state::~scope_state() {
  if (running() != 0) report_running();
  if (has_errors() && !reported_)
    fail("an async_scope was destroyed with an exception in it: co_await its join()");
  CORACLE_REQUIRE(
      joiner_.handle,
      "an async_scope was destroyed without join(): co_await it on every way out of the scope, also "
      "where an exception leaves it, or use with_scope()");
  while (!failed_.empty()) dispose(failed_.pop());
  while (!held_.empty()) dispose(held_.pop());
}

inline void scope_state::throw_errors() {
  reported_ = true;
  std::vector<std::exception_ptr> errors;
  std::size_t count = 0;
  std::exception_ptr first;
  const auto for_each = [this](auto f) {
    for (auto* each = failed_.front(); each; each = static_cast<scope_child*>(each->next)) f(*each);
    for (auto* each = held_.front(); each; each = static_cast<scope_future_child*>(each->next)) f(*each);
  };
  for (auto* each = held_.front(); each; each = static_cast<scope_future_child*>(each->next)) {
    each->is_settled = true;
  }
  for_each([&](const scope_child& each) {
    if (count++ == 0) first = each.error;
  });
  throw_together(first, count, [&](std::vector<std::exception_ptr>& all) {
    std::size_t index = 0;
    for_each([&](const scope_child& each) {
      if (index++ != 0) all.push_back(each.error);
    });
  });
}

CORACLE_COLD() inline void scope_state::report_running() noexcept {
  constexpr int most_named = 8;
  std::fprintf(
      stderr,
      "coracle: an async_scope was destroyed while %zu of its children run: co_await its join() on every "
      "way out of the scope, also where an exception leaves it, or use with_scope(). Spawned at:\n",
      running());
  static_cast<void>(word_.lock());
  int named = 0;
  for (auto* each = running_.front(); each && named != most_named; ++named) {
    const std::source_location& at = each->spawned_at;
    std::fprintf(stderr, "  %s:%u in %s\n", at.file_name(), static_cast<unsigned>(at.line()),
                 at.function_name());
    each = static_cast<scope_child*>(each->next);
  }
  std::abort();
}
}  // namespace coracle::detail
