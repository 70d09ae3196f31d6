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

/// A child whose error belongs to a future, until the future is dropped or the scope is joined.
struct scope_future_child : scope_child {
  using scope_child::scope_child;
  plain<bool> is_held = false;     // scope's lock, until it is settled: it is in held_
  plain<bool> is_dropped = false;  // scope's lock: there is no future any more
  // The value or the error has been taken. Only the coroutines that are being joined write and read this, one
  // after the other.
  plain<bool> is_settled = false;
};

class scope_state : shared_frame {
 public:
  // Inline: clang describes a class to debuggers where a constructor is compiled, and they need it in the
  // program, to find what joins a scope.
  scope_state(scope_policy policy, const parent_of_children& parent)
      : shared_frame(&never_resumed, &functions),
        policy_(std::move(policy)),
        outer_(parent.inherited()),
        children_inherit_(outer_),
        above_(parent.frame()) {
    promise().set_environment(&children_inherit_);
    // A stop state that cannot be allocated later would be a reason to stop for all children from then on.
    if (!policy_.stops_siblings()) children_inherit_.prepare_for_waits();
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
    needs_join_ = true;
    if (starts_now) running_.push(arriving);
    word_.unlock(seen + one);
  }
  CORACLE_COLD() void started(scope_child& late) noexcept;
  /// Called when a child without an error, or whose error has been taken, has ended; the caller then disposes
  /// of the child.
  void ended(scope_child& child, bool was_cancelled) noexcept {
    const std::size_t seen = word_.lock();
    running_.remove(child);
    if (was_cancelled) any_cancelled_ = true;
    leave(seen);
  }
  /// Takes over a child that has an error.
  CORACLE_COLD() void failed(scope_child& child) noexcept;

  // ---- children with a future ----

  /// Keeps the error for the future, or for join(); leave() must follow. Returns false if the future was
  /// dropped.
  CORACLE_COLD() bool hold(scope_future_child& child) noexcept;
  CORACLE_COLD() void leave() noexcept;
  /// The future is dropped: an error that it held becomes the scope's.
  CORACLE_COLD() void drop_future(scope_future_child& child) noexcept;
  /// The future passes its error to the coroutine that awaits it.
  CORACLE_COLD() void give_up(scope_future_child& child) noexcept;

  // ---- the joiner ----

  /// Suspends `joiner` until the children have ended; `on_stop` stops them. Returns false if there are none
  /// and the joiner continues at once.
  template <class Promise>
  bool join(std::coroutine_handle<Promise> joiner, stop_registration& on_stop) noexcept {
    return join(joiner, awaiting_frame::kind_of<Promise>, end_of_parent<Promise>(),
                detail::environment_of(joiner), on_stop);
  }
  CORACLE_COLD() void joiner_stopped(stop_reason why) noexcept;
  [[nodiscard]] bool has_errors() const noexcept { return !(failed_.empty() && held_.empty()); }
  /// Returns the reason of the request from outside that has cancelled the join, or none.
  [[nodiscard]] stop_reason join_cancelled() const noexcept {
    return too_late_ || any_cancelled_ ? reason_of_join() : stop_reason::none;
  }
  /// Returns what join() throws for them. Requires: there are errors.
  [[nodiscard]] CORACLE_COLD() std::exception_ptr take_errors() noexcept;

 private:
  static constexpr std::size_t one = 2;

  /// `end_joiner`: the joiner's end_of_parent(); `its`: the joiner's environment.
  CORACLE_NOINLINE()
  bool join(std::coroutine_handle<> joiner, awaiting_frame::kind joiner_is, end_of_task* end_joiner,
            const environment* its, stop_registration& on_stop) noexcept;
  /// Stop was requested before the join.
  void joined_too_late() noexcept;
  /// Called with the lock held, and releases it. The scope may be gone afterwards.
  void leave(std::size_t seen) noexcept {
    word_.unlock(seen - one);
    if (seen == one) [[unlikely]]
      wake_joiner();
  }
  CORACLE_NOINLINE() void wake_joiner() noexcept;
  /// If the join was cancelled and the joiner is a task, has it ended when it is resumed, unless it must
  /// throw. Called when no child is left.
  [[nodiscard]] bool joiner_ends_stopped() noexcept;
  CORACLE_COLD() bool end_stopped_joiner() noexcept;
  CORACLE_COLD() [[nodiscard]] stop_reason reason_of_join() const noexcept;
  static awaiting_frame above(shared_promise& self, stop_reason why) noexcept;
  static const shared_promise::functions functions;

  void report(scope_child& child) noexcept;
  [[nodiscard]] std::size_t running() const noexcept {
    return word_.load(memory_order_relaxed) /*C1*/ / one - (joiner_.handle ? 0 : 1);
  }
  [[noreturn]] void report_running() noexcept;

  // The word is twice the number of children that have not ended, plus two until join() is awaited. The
  // thread that takes it to zero continues the joiner; after that no other thread accesses the scope. joiner_
  // belongs to join() until it releases the lock, then to the thread that takes the word to zero. The lists,
  // any_cancelled_ and needs_join_ are guarded by the lock, then belong to the joiner.
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
  plain<end_of_task*> end_joiner_ = nullptr;              // set if the joiner is a task
  plain<const stop_token*> joined_under_ = &outer_.stop;  // the joiner's own, if it has one
  atomic<bool> stopped_by_joiner_{false};
  plain<bool> too_late_ = false;
  plain<bool> any_cancelled_ = false;
  plain<bool> needs_join_ = false;  // something was spawned
  bool reported_ = false;
};

/// Ends a child with an error, or that was cancelled. `destroy` destroys it, now or when its error has been
/// taken.
CORACLE_COLD()
void end_badly(scope_child& child, const outcome<void>& end, scope_frame::function* destroy) noexcept;
/// Has `start` called when the outermost start on this thread is about to return.
CORACLE_COLD() void put_off(scope_child& child, nested_start& nested, scope_frame::function* start) noexcept;

/// Runs `child` until it first suspends, or puts that off. It may be gone on return. A Work is a scope_child
/// with run() and the callback over().
template <class Work>
void start_in_scope(Work& child) noexcept {
  nested_start nested;
  const bool now = !nested.too_deep();
  child.scope().add(child, now);
  if (now) [[likely]]
    return child.run();
  detail::put_off(child, nested, [](scope_frame* self) {
    auto& late = static_cast<Work&>(*self);
    late.set_function(&Work::over);
    late.scope().started(late);
    late.run();
  });
}
}  // namespace coracle::detail
