// coracle/core/detail/stoppable_wait.hpp -- the base of awaiters that wait in a queue and can be stopped.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/customisation.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/detail/queued_waiter.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/stop.hpp>
#include <coroutine>
#include <new>
#include <type_traits>

namespace coracle::detail {
/// Posted in place of a coroutine; starts its operation when its turn comes. Starting it earlier would keep
/// other coroutines out meanwhile: waiters would queue up for a mutex, and every later one would find it
/// held.
class late_start : resumption, callback_frame {
 public:
  /// Returns true if the operation waits. `operation` begins with the memory of the late_start.
  using start_function = bool(void* operation, std::coroutine_handle<> suspended,
                              const environment* inherited) noexcept;
  /// Posts `suspended` behind the other coroutines of its executor. Without one there is nothing to give way
  /// to: starts the operation. Returns true if the coroutine stays suspended.
  CORACLE_COLD()
  static bool post_or_start(void* operation, start_function* start, std::coroutine_handle<> suspended,
                            const environment* inherited) noexcept;

 private:
  late_start(start_function* start, std::coroutine_handle<> suspended, const environment* inherited) noexcept;
  static void run(callback_frame* self);

  start_function* const start_;
  const std::coroutine_handle<> coroutine_;
};

// `resumed` ends the coroutine of a wait: stopped_wait::resumed(); null if it must be resumed in any case.
// `throws`: CORACLE_EXCEPTIONS() of the file that calls.

/// Cancels `waiting`, which has not been queued, for the stop request of `inherited`.
CORACLE_COLD() void refuse_wait(queued_waiter& waiting, const environment& inherited) noexcept;
/// As above. Returns true if its coroutine is ended instead of being resumed: where `resumed` is not null, as
/// end_when_resumed() decides.
CORACLE_COLD()
bool refuse_wait(queued_waiter& waiting, const environment& inherited, task_frame::function* resumed,
                 bool throws) noexcept;
/// The second half of that, for a wait that was cancelled before it was queued.
CORACLE_COLD() bool end_refused(queued_waiter& waiting, task_frame::function* resumed, bool throws) noexcept;
/// Wakes a waiter that a stop request has taken out of its queue, and has its coroutine ended if it can be.
CORACLE_COLD()
void wake_stopped(queued_waiter& waiting, task_frame::function* resumed, bool throws) noexcept;

/// Base of an awaiter that waits in a wait_queue and obeys the cancellation contract. `Operation` has
///
///     bool try_now() noexcept;    // returns true if it was carried out without waiting
///     bool enqueue() noexcept;    // returns true if node() is in the queue; false if it was carried out
///                                 // meanwhile, as serve_at_once() has allowed, or if push() or
///                                 // serve_at_once() refused it
///     bool withdraw() noexcept;   // stop was requested: returns wait_queue::withdraw(node()), called under
///                                 // the lock
///     T await_resume();           // begins with finish()
///
/// and makes this class its friend. `Node` is the type of the entry in the queue: a class derived from
/// queued_waiter where the serving code needs more information about the waiter.
//
//  1. The listener is registered before the waiter is queued. A stop request in between marks the waiter
//     cancelled, and the queue refuses it.
//  2. As soon as the lock is released after push(), the coroutine may resume on another thread and end: from
//     then on await_suspend accesses nothing.
//  3. The code that serves or withdraws a waiter releases the lock first and then wakes it.
//  4. The end of the wait begins with finish(), which deregisters the listener and waits until it returns if
//     it is running on another thread. A listener may therefore use the operation, the primitive and the
//     executor until it returns. No coroutine runs inside a listener, so it waits at most for the lock; and
//     so does finish().
//  5. An operation that has a name can be awaited again, whether its wait was cancelled or not. So whatever
//     ends a wait leaves no node behind: finish(), or stopped_wait where the coroutine is ended.
//  6. A primitive must therefore outlive every await of it, and not merely the wake-up of its waiters.
//     Destroying a coroutine that waits leaves a dangling waiter; only an operation that calls abandon()
//     allows it.
template <class Operation, class Node = queued_waiter>
class stoppable_wait {
 public:
  ~stoppable_wait()
    requires(std::is_trivially_destructible_v<Node>)
  = default;
  /// Ends the lifetime of the fields that the model checker observes.
  ~stoppable_wait() {
    if (has_node()) node_.~Node();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    const environment* const inherited = detail::environment_of(suspended);
    if constexpr (offers_choice<Promise>) {
      if (choice* const one_of = suspended.promise().get_choice())
        return wait_as_branch(suspended, inherited, *one_of);
    }
    constexpr bool ends = ends_stopped<Promise> && !requires { Operation::resumes_when_stopped; };
    if (has_to_give_way()) [[unlikely]]
      return start_after_others<ends>(suspended, inherited);
    if (inherited && stop_registration::may_be_late(inherited->stop)) [[unlikely]]
      return start_or_refuse<ends>(this, suspended, inherited);
    return !operation().try_now() && wait<ends>(suspended, inherited);
  }
  /// Called once the wait is over: returns why the operation was not carried out, or none if it was. If it
  /// was not, await_resume(), which would throw that reason, need not be called.
  [[nodiscard]] stop_reason await_cancelled() noexcept { return end_wait(); }

 protected:
  stoppable_wait() noexcept { mark_no_node(); }
  /// Requires: not awaited yet. Lets an operation be passed to when_all() and similar functions.
  stoppable_wait(const stoppable_wait& other) noexcept {
    CORACLE_CHECK(!other.has_node(), "an operation was moved while it was awaited");
    static_cast<void>(other);
    mark_no_node();
  }
  stoppable_wait& operator=(const stoppable_wait&) = delete;

  /// Returns true if the operation was carried out before it is awaited; it must then not be awaited. An
  /// operation that needs nothing of its awaiter makes this public for when_any(), which can then tell
  /// whether it has to wait at all.
  bool try_at_once(internal_call) noexcept { return operation().try_now(); }
  /// Throws operation_cancelled if the operation was not carried out.
  CORACLE_ALWAYS_INLINE() void finish() {
    if (const stop_reason why = end_wait(); why != stop_reason::none) [[unlikely]]
      throw_cancelled(why);
  }
  /// Returns why the operation was not carried out, or none. It can then be awaited again.
  CORACLE_ALWAYS_INLINE() stop_reason end_wait() noexcept {
    if (!has_node()) [[likely]]
      return stop_reason::none;
    node_.remove();
    const stop_reason why = node_.progress() == queued_waiter::cancelled ? node_.reason() : stop_reason::none;
    node_.~Node();
    mark_no_node();
    return why;
  }
  /// For the destructor of an operation whose coroutine may be destroyed while it waits. Not for a waiter in
  /// a list.
  void abandon() noexcept {
    if (node_.progress() != queued_waiter::queued) [[likely]]
      return;
    node_.remove();
    static_cast<void>(operation().withdraw());
  }
  /// Exists once enqueue() has been called.
  Node& node() noexcept { return node_; }
  /// Returns the operation whose first member is `node`. Each object is accessed through its own type, so no
  /// aliasing rule is violated; the ABI guarantees that the first member has the address of its object.
  static Operation& operation_of(Node& node) noexcept {
    return static_cast<Operation&>(*static_cast<stoppable_wait*>(static_cast<void*>(&node)));
  }

  // `Ends`: the coroutine is a task, which may be ended where it waits.

  /// Registers the listener first: once the waiter is queued, this object may be gone.
  template <bool Ends = false>
  CORACLE_NOINLINE()
  bool wait(std::coroutine_handle<> suspended, const environment* inherited) noexcept {
    stop_state* const stops = stops_of(inherited);
    make_node<Ends>(suspended);
    restart_budget();
    if (!node_.listen(stops)) [[unlikely]]
      return refuse_wait(node_, *inherited, resumed_at_end<Ends>(), CORACLE_EXCEPTIONS());
    if (operation().enqueue()) [[likely]]
      return true;
    return Ends && node_.progress() == queued_waiter::cancelled &&
           end_refused(node_, resumed_at_end<Ends>(), CORACLE_EXCEPTIONS());
  }
  template <bool Ends>
  CORACLE_COLD()
  bool start_after_others(std::coroutine_handle<> suspended, const environment* inherited) noexcept {
    return late_start::post_or_start(this, &start_or_refuse<Ends>, suspended, inherited);
  }
  /// Returns true if the coroutine is ended instead of being resumed.
  template <bool Ends>
  bool refuse(std::coroutine_handle<> suspended, const environment& inherited) noexcept {
    make_node(suspended, nullptr);
    return refuse_wait(node_, inherited, resumed_at_end<Ends>(), CORACLE_EXCEPTIONS());
  }

 private:
  Operation& operation() noexcept { return static_cast<Operation&>(*this); }
  // `link` exists before the rest of node_ does.
  [[nodiscard]] bool has_node() const noexcept { return !node_.is_unused(); }
  void mark_no_node() noexcept { node_.mark_unused(); }
  void make_node(std::coroutine_handle<> suspended, stop_listener::callback* on_stop) noexcept {
    ::new (static_cast<void*>(&node_)) Node(suspended, on_stop);
  }
  /// For a coroutine that is ended if it is stopped where `Ends`. A node that is queued on an executor, too,
  /// has to know.
  template <bool Ends>
  void make_node(std::coroutine_handle<> suspended) noexcept {
    constexpr std::bool_constant<Ends> ends;
    stop_listener::callback* const on_stop = &stop_requested<Ends>;
    if constexpr (requires { Node(suspended, on_stop, ends); }) {
      ::new (static_cast<void*>(&node_)) Node(suspended, on_stop, ends);
    } else {
      make_node(suspended, on_stop);
    }
  }
  static stop_state* stops_of(const environment* inherited) noexcept {
    return inherited ? stop_registration::state_of(inherited->stop) : nullptr;
  }
  /// Does not call try_now() first, which cannot tell whether another branch has been served.
  CORACLE_NOINLINE()
  bool wait_as_branch(std::coroutine_handle<> suspended, const environment* inherited,
                      choice& one_of) noexcept {
    stop_state* const stops = stops_of(inherited);
    make_node(suspended, &stop_requested<false>);
    restart_budget();
    if (node_.listen(stops, one_of)) [[likely]]
      return operation().enqueue();
    refuse_wait(node_, *inherited);
    return false;
  }
  template <bool Ends>
  static constexpr task_frame::function* resumed_at_end() noexcept {
    if constexpr (Ends) {
      return &stopped_wait::resumed;
    } else {
      return nullptr;
    }
  }
  /// Returns true if the operation waits, or the coroutine is ended.
  template <bool Ends>
  CORACLE_COLD()
  static bool start_or_refuse(void* operation, std::coroutine_handle<> suspended,
                              const environment* inherited) noexcept {
    auto& self = *static_cast<stoppable_wait*>(operation);
    if (inherited && inherited->stop.stop_requested())
      return self.template refuse<Ends>(suspended, *inherited);
    return !self.operation().try_now() && self.template wait<Ends>(suspended, inherited);
  }
  template <bool Ends>
  static void stop_requested(stop_listener& listener) noexcept {
    auto& node = static_cast<Node&>(listener);
    if (operation_of(node).withdraw()) wake_stopped(node, resumed_at_end<Ends>(), CORACLE_EXCEPTIONS());
  }

  // First, so that operation_of() finds the object. Constructed when the operation has to wait or is refused;
  // until then a late_start may be in its place.
  static_assert(sizeof(late_start) <= sizeof(queued_waiter) - sizeof(queued_waiter::link),
                "a late_start in place of node_ leaves link alone");
  union {
    Node node_;
  };
};
}  // namespace coracle::detail
