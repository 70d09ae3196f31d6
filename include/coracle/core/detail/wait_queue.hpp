// coracle/core/detail/wait_queue.hpp -- coroutines that wait in a queue, from which a stop request takes them out.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/intrusive_list.hpp>
#include <coracle/base/locked_word.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/stop.hpp>
#include <cstdint>
#include <type_traits>

namespace coracle::detail {
/// A coroutine's place in a wait queue. It lives in the awaiter, which is in the frame of each coroutine that waits: so
/// it is kept small.
//
// `link` belongs to the lock of the queue. Whoever moves a waiter out of `queued` wakes it: who serves it, or the stop
// request that cancels it, never both.
//   unused     its awaiter has not had to wait, and this object does not exist
//   arriving   not queued yet; its coroutine runs await_suspend
//   queued     suspended, linked; or alone in the word of an event, or served from there
//   served     it has what it waited for
//   cancelled  it has not, and will not; also before it was queued, which then does not happen
struct queued_waiter : waiter, stop_listener {
  enum state : std::uintptr_t { queued, arriving, served, cancelled };
  queued_waiter(std::coroutine_handle<> suspended, stop_listener::callback* on_stop) noexcept
      : waiter(suspended), stop_listener(on_stop), bond_(0), link(as_link(arriving)) {}
  queued_waiter(const queued_waiter&) = delete;
  queued_waiter& operator=(const queued_waiter&) = delete;

  /// What its awaiter needs before it exists.
  void mark_unused() noexcept {
    ::new (static_cast<void*>(&link)) plain<plain<resumption*>*>(as_link(unused));
  }
  [[nodiscard]] bool is_unused() const noexcept { return standing() == unused; }

  [[nodiscard]] state progress() const noexcept { return static_cast<state>(standing() & state_bits); }
  /// Not for `cancelled`.
  void set_progress(state now) noexcept { link = as_link(now); }
  /// It waits alone in the word of its event, or was served from there.
  [[nodiscard]] bool is_queued_alone() const noexcept { return standing() == queued; }
  [[nodiscard]] bool is_branch() const noexcept { return (bond_ & is_choice) != 0; }
  /// Null if it is its coroutine's only wait.
  [[nodiscard]] choice* one_of() const noexcept { return is_branch() ? &of_branch() : nullptr; }
  /// From here on it is its coroutine's only wait. Not while its listener may call why().
  void leave_choice() noexcept { bond_ = reinterpret_cast<std::uintptr_t>(stops()); }

  /// To be called once. `from`: what stops its coroutine's only wait; null: nothing. False: that is stopped already, and
  /// the listener will not run.
  [[nodiscard]] bool listen(stop_state* from) noexcept {
    bond_ = reinterpret_cast<std::uintptr_t>(from);  // not after add(): the listener reads it
    return !from || from->add(*this);
  }
  /// The same for a branch of a choice.
  [[nodiscard]] bool listen(stop_state* from, choice& one_of) noexcept {
    bond_ = reinterpret_cast<std::uintptr_t>(&one_of) | is_choice;
    if (!from) return true;
    one_of.set_stops(*from);
    return from->add(*this);
  }
  /// Afterwards the listener does not run and will not. No effect if it was not added.
  void remove() noexcept {
    stop_state* const from = stops();
    if (!from) return;
    from->remove(*this);
    bond_ = 0;  // not before: the listener, which may run on another thread until here, reads it
  }
  [[nodiscard]] bool is_added() const noexcept { return stops() != nullptr; }
  [[nodiscard]] stop_reason why() const noexcept { return stops()->reason(); }

  /// arriving -> queued or served. False: stop was requested on the way here, or, to be served, its choice is lost.
  [[nodiscard]] bool arrive(state at) noexcept {
    if (progress() == cancelled) return false;
    const bool lost = at == served && !claim();
    lost ? cancel_for(stop_reason::lost_race) : set_progress(at);
    return !lost;
  }
  /// Before it is served. False: another branch of its coroutine is, and this one is lost.
  [[nodiscard]] bool claim() noexcept { return !is_branch() || of_branch().claim(); }
  /// queued -> served or, if it is lost, cancelled. Whoever calls it wakes it.
  bool leave() noexcept {
    const bool lost = !claim();
    lost ? cancel_for(stop_reason::lost_race) : set_progress(served);
    return !lost;
  }
  /// Another branch of its coroutine has been served.
  [[nodiscard]] bool is_lost() const noexcept { return is_branch() && of_branch().is_claimed(); }
  /// Cancels it, unless it is served or lost already, and perhaps looked at by its coroutine. True: it was queued, and
  /// the caller is to have it woken. Requires: it is not linked any more.
  [[nodiscard]] bool cancel() noexcept {
    const state before = progress();
    if (before == served || before == cancelled) return false;
    cancel_for(is_added() ? why() : stop_reason::lost_race);
    return before == queued;
  }
  void cancel_for(stop_reason why) noexcept {
    link = as_link(cancelled | static_cast<std::uintptr_t>(why) << reason_shift);
  }
  /// Why it was cancelled. Requires: it was.
  [[nodiscard]] stop_reason reason() const noexcept {
    return static_cast<stop_reason>(standing() >> reason_shift);
  }

 private:
  [[nodiscard]] choice& of_branch() const noexcept { return *reinterpret_cast<choice*>(bond_ - is_choice); }
  [[nodiscard]] stop_state* stops() const noexcept {
    return is_branch() ? of_branch().stops() : reinterpret_cast<stop_state*>(std::uintptr_t{bond_});
  }
  [[nodiscard]] std::uintptr_t standing() const noexcept {
    return reinterpret_cast<std::uintptr_t>(static_cast<plain<resumption*>*>(link));
  }
  static plain<resumption*>* as_link(std::uintptr_t standing) noexcept {
    return reinterpret_cast<plain<resumption*>*>(standing);
  }
  static constexpr std::uintptr_t state_bits = 3, reason_shift = 2, is_choice = 1;
  static constexpr std::uintptr_t unused =
      ~std::uintptr_t{0};  // its bits of the state are not those of `queued`
  static_assert(alignof(plain<resumption*>) > state_bits && alignof(choice) > is_choice);

  /// The stop state by which it is registered, or null; or a choice, with a mark, that has the one or the other.
  plain<std::uintptr_t> bond_;

 public:
  /// While it is queued, what points here; else, in the bits of `state_bits`, its state and, once it is cancelled, the
  /// reason above them.
  plain<plain<resumption*>*> link;
};

/// Waiters served under a lock, for the holder to wake in that order once he has released it.
class wake_list {
 public:
  /// Requires: taken out of its queue.
  void add(waiter& served) noexcept {
    *end_ = &served;
    end_ = &served.next;
  }
  void wake() noexcept {
    *end_ = nullptr;
    wake_all(static_cast<waiter*>(first_));
  }

 private:
  plain<resumption*> first_ = nullptr;
  plain<resumption*>* end_ = &first_;
};

/// Waiters in the order of their arrival. It has no lock of its own: the primitive's locked_word is held
/// around each call. A waiter whose choice has been taken elsewhere is lost: nobody serves it, and it stays until the
/// stop request of its when_any() withdraws it. So a queue that is not empty may hold nobody to serve.
class wait_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }
  /// The oldest; null if there is none.
  [[nodiscard]] queued_waiter* front() const noexcept { return waiters_.front(); }
  /// False: stop was requested on the way here, and the waiter is not in the queue.
  [[nodiscard]] bool push(queued_waiter& arriving) noexcept {
    const bool waits = arriving.arrive(queued_waiter::queued);
    if (waits) put(arriving);
    return waits;
  }
  /// As push(), for one that has arrived.
  void put(queued_waiter& waiting) noexcept { waiters_.push(waiting); }
  /// For an enqueue() that finds that it need not wait. False: stop was requested on the way here, or its choice is
  /// lost, and nothing may be taken for this waiter. True: a stop request that comes later has no effect.
  [[nodiscard]] bool serve_at_once(queued_waiter& arriving) noexcept {
    return arriving.arrive(queued_waiter::served);
  }
  /// Serves the oldest that is not lost, for the caller to wake once the lock is released. Null: there is none.
  [[nodiscard]] queued_waiter* claim() noexcept {
    queued_waiter* each = front();
    while (each && !each->claim()) each = after(*each);
    if (each) take(*each);
    return each;
  }
  /// Serves all that are not lost, for the caller to wake with wake_all() once the lock is released.
  [[nodiscard]] queued_waiter* claim_all() noexcept;
  /// The oldest that is not lost, so far; null if there is none.
  [[nodiscard]] queued_waiter* first_to_serve() const noexcept {
    queued_waiter* each = front();
    while (each && each->is_lost()) each = after(*each);
    return each;
  }
  /// Takes one out without serving it: it is `queued` still, but not linked. Requires: it is queued.
  void detach(queued_waiter& waiting) noexcept {
    waiters_.remove(waiting);
    waiting.set_progress(queued_waiter::queued);
  }
  /// Puts back in front what was detached.
  void put_in_front(queued_waiter& waiting) noexcept { waiters_.push_front(waiting); }
  /// As claim(), and serves `arriving` at the same time: both or neither. Null: nobody waits whom it can meet, or
  /// `arriving` is cancelled.
  [[nodiscard]] queued_waiter* meet(queued_waiter& arriving) noexcept;
  /// Serves one out of its turn, for the caller to wake once the lock is released. Requires: it is queued.
  void take(queued_waiter& waiting) noexcept {
    waiters_.remove(waiting);
    waiting.set_progress(queued_waiter::served);
  }
  /// Serves all but those that are lost, which it cancels; for the caller to wake, both, with wake_all() once the
  /// lock is released.
  queued_waiter* take_all() noexcept {
    queued_waiter* const first = waiters_.take_all();
    for (queued_waiter* each = first; each; each = after(*each)) each->leave();
    return first;
  }
  /// Cancels a waiter, unless it is served. True: it was in the queue, and the caller is to have it woken.
  [[nodiscard]] bool withdraw(queued_waiter& waiting) noexcept {
    if (waiting.progress() == queued_waiter::queued) waiters_.remove(waiting);
    return waiting.cancel();
  }

 private:
  static queued_waiter* after(queued_waiter& one) noexcept { return static_cast<queued_waiter*>(one.next); }

  intrusive_list<queued_waiter> waiters_;
};

inline queued_waiter* wait_queue::claim_all() noexcept {
  plain<resumption*> first = nullptr;
  plain<resumption*>* end = &first;
  for (queued_waiter *each = front(), *next; each; each = next) {
    next = after(*each);
    if (!each->claim()) continue;
    take(*each);
    *std::exchange(end, &each->next) = each;
  }
  *end = nullptr;
  return static_cast<queued_waiter*>(first);
}

inline queued_waiter* wait_queue::meet(queued_waiter& arriving) noexcept {
  if (arriving.progress() == queued_waiter::cancelled) return nullptr;
  for (queued_waiter* each = front(); each; each = after(*each)) {
    const choice::meeting met = choice::claim_both(arriving.one_of(), each->one_of());
    if (met == choice::meeting::other_is_lost) continue;
    if (met == choice::meeting::mine_is_lost) {
      arriving.cancel_for(stop_reason::lost_race);
      return nullptr;
    }
    arriving.set_progress(queued_waiter::served);
    take(*each);
    return each;
  }
  return nullptr;
}

/// Base of an awaiter that waits in a wait_queue and obeys the contract of cancellation. `Operation` has
///
///     bool try_now() noexcept;    // true: carried out, without waiting
///     bool enqueue() noexcept;    // true: node() is in the queue; false: it was carried out on the way there,
///                                 // as serve_at_once() has allowed, or push() or serve_at_once() refused
///     bool withdraw() noexcept;   // stop is requested: what wait_queue::withdraw(node()) says, under the lock
///     T await_resume();           // begins with finish()
///
/// and makes this class its friend. `Node` is what stands in the queue: a class derived from queued_waiter where
/// whoever serves it has to know more about it.
//
//   1. The listener is registered, then the waiter is queued. A stop request in between marks it cancelled, and the
//      queue refuses it.
//   2. As soon as the lock is released after push(), the coroutine may go on elsewhere and end: await_suspend touches
//      nothing any more.
//   3. Who serves a waiter, or withdraws it, releases the lock first and then wakes it.
//   4. The end of the wait begins with finish(): it deregisters the listener, and waits for one that runs on another
//      thread. So a listener may use the operation and the primitive until it returns. It never waits for more than
//      the lock, since no coroutine runs inside it; so neither does finish().
//   5. So a primitive lives until each await of it has ended; that a waiter is woken is not enough. A coroutine that is
//      destroyed while it waits leaves a dangling waiter: only an operation that calls abandon() allows it.
template <class Operation, class Node = queued_waiter>
class stoppable_wait {
 public:
  ~stoppable_wait()
    requires(std::is_trivially_destructible_v<Node>)
  = default;
  /// The model checker's fields have an end.
  ~stoppable_wait() {
    if (has_node()) node_.~Node();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_NOINLINE_SUSPEND()
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    const environment* const inherited = environment_of(suspended);
    if constexpr (offers_choice<Promise>) {
      if (choice* const one_of = suspended.promise().get_choice())
        return wait_as_branch(suspended, inherited, *one_of);
    }
    if (has_to_give_way()) [[unlikely]]
      return start_after_others(suspended, inherited);
    return start(suspended, inherited);
  }
  /// Once the wait is over: why the operation was not carried out, and then await_resume() need not be called,
  /// which would throw it; none: it was.
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    if (finish_quietly()) return stop_reason::none;
    return node_.reason();
  }

 protected:
  stoppable_wait() noexcept { has_no_node(); }
  /// Requires: not awaited yet. So an operation can be handed to when_all() and the like.
  stoppable_wait(const stoppable_wait& other) noexcept {
    CORACLE_CHECK(!other.has_node(), "an operation was moved while it was awaited");
    static_cast<void>(other);
    has_no_node();
  }
  stoppable_wait& operator=(const stoppable_wait&) = delete;

  /// True: carried out, before it is awaited; then it is not awaited any more. An operation that needs nothing of
  /// whoever awaits it makes this public for when_any(), which so finds out whether it has to wait at all.
  bool try_at_once() noexcept { return operation().try_now(); }
  /// Throws operation_cancelled if the operation was not carried out.
  CORACLE_ALWAYS_INLINE() void finish() {
    if (!finish_quietly()) [[unlikely]]
      throw_cancelled(node_.reason());
  }
  /// Returns false if cancelled.
  CORACLE_ALWAYS_INLINE() bool finish_quietly() noexcept {
    if (!has_node()) [[likely]]
      return true;
    node_.remove();
    return node_.progress() != queued_waiter::cancelled;
  }
  /// For the destructor of an operation whose coroutine may be destroyed while it waits. Not for one in a list.
  void abandon() noexcept {
    if (node_.progress() != queued_waiter::queued) [[likely]]
      return;
    node_.remove();
    static_cast<void>(operation().withdraw());
  }
  /// Exists once enqueue() is called.
  Node& node() noexcept { return node_; }
  /// The operation of which `node` is the node, which is its first member. Each object is accessed as what it is, so no
  /// rule of aliasing is at stake; that the first member has its object's address is the ABI's promise.
  static Operation& operation_of(Node& node) noexcept {
    return static_cast<Operation&>(reinterpret_cast<stoppable_wait&>(node));
  }

 private:
  Operation& operation() noexcept { return static_cast<Operation&>(*this); }
  // `link` is there before the rest of node_ is.
  [[nodiscard]] bool has_node() const noexcept { return !node_.is_unused(); }
  void has_no_node() noexcept { node_.mark_unused(); }
  void make_node(std::coroutine_handle<> suspended) noexcept {
    ::new (static_cast<void*>(&node_)) Node(suspended, &stop_requested);
  }
  static stop_state* stops_of(const environment* inherited) noexcept {
    return inherited ? stop_registration::state_of(inherited->stop) : nullptr;
  }

 protected:
  /// The listener comes first: once the waiter is in the queue, this object may be gone.
  CORACLE_NOINLINE()
  bool wait(std::coroutine_handle<> suspended, const environment* inherited) noexcept {
    stop_state* const stops = stops_of(inherited);
    make_node(suspended);
    others_have_run();
    return node_.listen(stops) ? operation().enqueue() : refuse(*inherited);
  }
  /// There is no try_now() before: it does not know that another branch may have been served.
  CORACLE_NOINLINE()
  bool wait_as_branch(std::coroutine_handle<> suspended, const environment* inherited,
                      choice& one_of) noexcept {
    stop_state* const stops = stops_of(inherited);
    make_node(suspended);
    others_have_run();
    return node_.listen(stops, one_of) ? operation().enqueue() : refuse(*inherited);
  }
  /// As start(); without an executor there are no others.
  CORACLE_COLD()
  bool start_after_others(std::coroutine_handle<> suspended, const environment* inherited) noexcept {
    return give_way(*::new (static_cast<void*>(&late_)) late_start(*this, suspended, inherited)) ||
           start(suspended, inherited);
  }
  CORACLE_COLD() bool refuse(const environment& inherited) noexcept {
    make_node(nullptr);
    node_.cancel_for(inherited.stop.reason());
    return false;
  }

 private:
  /// Is posted in place of the coroutine, and starts the operation when its turn comes. To start it before would be to
  /// keep others out meanwhile: of a mutex they would all queue up, and from then on each would find it held.
  struct late_start : resumption, callback_frame {
    late_start(stoppable_wait& operation, std::coroutine_handle<> suspended,
               const environment* inherited) noexcept
        : callback_frame(&run, inherited), self(operation), coroutine(suspended) {
      resumption::handle = callback_frame::handle();
    }
    static void run(callback_frame* frame) {
      const auto& late = static_cast<late_start&>(*frame);
      const std::coroutine_handle<> coroutine = late.coroutine;
      if (!late.self.start(coroutine, late.promise().get_environment())) resume_on_return(coroutine);
    }
    stoppable_wait& self;
    const std::coroutine_handle<> coroutine;
  };

  /// Returns true if it waits.
  CORACLE_ALWAYS_INLINE()
  bool start(std::coroutine_handle<> suspended, const environment* inherited) noexcept {
    if (inherited && stop_registration::may_be_late(inherited->stop)) [[unlikely]]
      return start_or_refuse(suspended, *inherited);
    return !operation().try_now() && wait(suspended, inherited);
  }
  CORACLE_COLD()
  bool start_or_refuse(std::coroutine_handle<> suspended, const environment& inherited) noexcept {
    if (inherited.stop.stop_requested()) return refuse(inherited);
    return !operation().try_now() && wait(suspended, &inherited);
  }
  static void stop_requested(stop_listener& listener) noexcept {
    auto& node = static_cast<Node&>(listener);
    if (operation_of(node).withdraw()) node.wake();
  }

  // First, so that operation_of() finds the object. Each is made when it is needed; node_ when the operation has to
  // wait, or is refused.
  static_assert(sizeof(late_start) <= sizeof(queued_waiter) - sizeof(queued_waiter::link),
                "late_ leaves link alone");
  union {
    Node node_;
    late_start late_;
  };
};
}  // namespace coracle::detail
