// coracle/core/detail/stop_state.hpp -- the shared state of a stop source, its tokens and callbacks.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/base/park.hpp>
#include <coracle/core/detail/listener_list.hpp>
#include <coracle/core/detail/stop_point.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/frame_memory.hpp>

namespace coracle::detail {
/// The state that a source, its tokens and their callbacks share. It may have an outer state and then also
/// stops with it. It is linked to the outer state, by a listener there, only once it has a listener itself or
/// a reference to it is kept; until then a check whether stop is requested also checks the outer state.
//
// A request takes the lock of the list, sets the reason, and then runs the listeners one by one, oldest
// first, releasing the lock during each call. reason_ changes once, under the lock, so a listener is either
// added before the requester reads the list or refused as too late. From then on, and while an outer state is
// not linked, the list is closed: add() leaves its short path, and looks whether it is too late or has to
// link this state first. The outer state's lock is taken while this one is held, never the other way round.
//   [R1] load                    acquire  sees what the requester did before   pairs with R2
//   [R2] none -> another         release  publishes what the requester did     pairs with R1
//   [R3] sources, any access     relaxed  a hint: a count that reaches 0 stays there
//   [R4] references, one more    relaxed  the caller has a reference already, or R5 has not happened
//   [R5] references, one less    acq_rel  the last one sees what the others did, then deletes
//   [R6] load                    acquire  the only owner sees what others did pairs with R5
//   [R7] load, or store before P2 relaxed  under the lock, or the state is not shared yet
//   [R8] outer state             acquire  null: sees the reason that R9 found there; then R1  pairs with R9
//   [R9] outer state -> null     release  publishes its place in the outer list, or the reason  pairs with R8
//   [R10] outer state            relaxed  null stays null, and any later check does R8 again
class stop_state : public stop_point, stop_registration, public recycled_memory {
 public:
  /// For its first owner, with `sources` sources.
  explicit stop_state(std::uint32_t sources) noexcept
      : stop_point(*this), stop_registration(&outer_stopped), listeners_(false), sources_(sources) {}
  /// For the source that `point` belongs to.
  explicit stop_state(stop_point& point) noexcept
      : stop_point(*this),
        stop_registration(&outer_stopped),
        listeners_(point.outer_ != nullptr),
        sources_(1),
        outer_(point.outer_) {}

  [[nodiscard]] stop_reason reason_of_state() noexcept {
    const stop_reason why = reason_.load(memory_order_acquire); /*R1*/
    if (why != stop_reason::none) return why;
    stop_point* const outer = outer_.load(memory_order_acquire); /*R8*/
    if (!outer) return reason_.load(memory_order_acquire);       /*R1*/
    return outer->requested() ? take_outer_reason_now() : stop_reason::none;
  }
  /// Virtual, as is the destructor, for the state that follows a std::stop_token (core/stop.hpp).
  [[nodiscard]] virtual bool has_source() noexcept {
    return requested() || sources_.load(memory_order_relaxed) != 0; /*R3*/
  }

  /// Runs the listeners, oldest first, and those of the linked states. Returns false if another thread does
  /// or has done so. Requires: the caller holds a reference meanwhile.
  bool request(stop_reason why) noexcept;
  /// Called by a listener of another state; requests a stop here, too. If such calls are nested
  /// linked_requests::most deep on this thread, this one is queued for the request() at their bottom, so a
  /// chain of any length takes a bounded stack.
  void request_linked(stop_reason why) noexcept;
  /// Returns false if stop was already requested; the listener is then not in the list.
  bool add(stop_listener& listener) noexcept {
    const listener_list::word begun = listeners_.begin_lock();
    if (!begun.is_nobody()) return add_beside_others(listener, begun);
    listeners_.unlock_with_only(listener);
    return true;
  }
  /// After this call the listener is not running and will not run.
  void remove(stop_listener& listener) noexcept {
    const listener_list::word begun = listeners_.begin_lock();
    begun.is_only(listener) ? listeners_.unlock_empty() : remove_from_others(listener, begun);
  }
  /// As remove(), without the lock where it need not wait: on the thread that called the listener. Requires:
  /// the call of the listener has happened before, but for its end.
  void wait_for_called(stop_listener& listener) noexcept {
    if (requester_ != &this_thread()) remove(listener);
  }

  void add_source() noexcept { sources_.fetch_add(1, memory_order_relaxed); }  /*R3*/
  void drop_source() noexcept { sources_.fetch_sub(1, memory_order_relaxed); } /*R3*/
  void keep() noexcept { references_.fetch_add(1, memory_order_relaxed); }     /*R4*/
  /// As keep(), for a reference that may outlive the outer state.
  void keep_longer() noexcept {
    if (outer_.load(memory_order_relaxed)) [[unlikely]] /*R10*/
      link_now();
    keep();
  }
  void drop() noexcept {
    if (references_.fetch_sub(1, memory_order_acq_rel) == 1) delete_this(); /*R5*/
  }
  /// For the holder of the only source: as drop_source() and drop(), but cheaper if it also holds the only
  /// reference, which no other thread can then copy.
  void drop_only_source() noexcept {
    stop_registration::remove();
    if (references_.load(memory_order_acquire) == 1) { /*R6*/
      this->stop_state::~stop_state();                 // the exact type is known: no virtual call
      return operator delete(this, sizeof(stop_state));
    }
    sources_.store(0, memory_order_relaxed); /*R3*/
    drop();
  }

 protected:
  /// The last owner deletes a state of either type.
  virtual ~stop_state() = default;
  /// Returns false if the last reference is gone and another thread is about to delete this.
  bool keep_unless_dropped() noexcept {
    std::uint32_t seen = references_.load(memory_order_relaxed);
    while (seen != 0) {
      if (references_.compare_exchange_weak(seen, seen + 1, memory_order_relaxed)) return true; /*R4*/
    }
    return false;
  }

 private:
  friend stop_point;
  bool run_listeners(stop_reason why) noexcept;
  void run_next() noexcept;
  CORACLE_SAVES_REGISTERS()
  bool add_beside_others(stop_listener& listener, listener_list::word begun) noexcept {
    if (listeners_.end_lock(begun).is_closed()) return link_and_add(listener);
    listeners_.append(listener);
    listeners_.unlock(false);
    return true;
  }
  /// Called with the lock held, which it releases.
  CORACLE_SAVES_REGISTERS() bool link_and_add(stop_listener& listener) noexcept {
    const bool in_time = link_to_outer() == stop_reason::none;
    if (in_time) listeners_.append(listener);
    unlock();
    return in_time;
  }
  CORACLE_NOINLINE() void remove_from_others(stop_listener& listener, listener_list::word begun) noexcept;
  CORACLE_COLD() void delete_this() noexcept;
  CORACLE_COLD() void remove_called(const stop_listener& listener) noexcept;
  CORACLE_NOINLINE() void link_now() noexcept;
  stop_reason link_to_outer() noexcept;
  CORACLE_NOINLINE() stop_reason take_outer_reason_now() noexcept;
  stop_reason take_outer_reason() noexcept;
  void lock() noexcept { static_cast<void>(listeners_.lock()); }
  void unlock() noexcept { listeners_.unlock(is_closed()); }
  /// Called with the lock held.
  [[nodiscard]] bool is_closed() const noexcept {
    return outer_.load(memory_order_relaxed) ||
           reason_.load(memory_order_relaxed) != stop_reason::none; /*R7*/
  }
  /// For a new state that is not shared yet: stop was requested at its point before.
  void requested_before(stop_reason why) noexcept {
    note_in_chain();
    reason_.store(why, memory_order_relaxed); /*R7*/
    listeners_.unlock(true);
  }
  static void outer_stopped(stop_listener& link) noexcept;
  static stop_state& out_of_memory() noexcept;

  listener_list listeners_;
  atomic<stop_reason> reason_{stop_reason::none};
  atomic<std::uint32_t> references_{1};
  atomic<std::uint32_t> sources_;
  atomic<stop_point*> outer_{nullptr};  // not null while the stop_registration is not yet linked to it
  // The lock guards the following; next_linked_ belongs to the thread that has set linked_reason_, and
  // requester_ is set before the first listener is called, and then stays.
  plain<stop_listener*> running_ = nullptr;
  plain<one_shot*> remover_ = nullptr;                    // of the running listener: waits for its return
  plain<const thread_state*> requester_ = nullptr;        // the thread that runs, or ran, the listeners
  plain<stop_reason> linked_reason_ = stop_reason::none;  // its setter will request the stop
  plain<stop_state*> next_linked_ = nullptr;              // written at most once
};

/// Delays wake-ups that a callback makes outside any executor until the last callback has returned. A
/// coroutine resumed inside a callback could deregister a callback that runs on another thread and in turn
/// waits for this one.
class wake_after_callbacks {
 public:
  explicit wake_after_callbacks(thread_state& thread) noexcept
      : thread_(thread), left_(detail::exchange(thread.wakes_left, 0u)) {}
  wake_after_callbacks(const wake_after_callbacks&) = delete;
  wake_after_callbacks& operator=(const wake_after_callbacks&) = delete;
  /// Runs the delayed wake-ups, unless this is inside another callback or nested 64 wake-ups deep; the
  /// enclosing one then runs them.
  ~wake_after_callbacks() {
    if (left_ != 0) {
      thread_.wakes_left = left_ - 1;
      run_late_wakeups(thread_);
    }
    thread_.wakes_left = left_;
  }

 private:
  thread_state& thread_;
  unsigned left_;
};

CORACLE_ALWAYS_INLINE() bool stop_registration::add_to(stop_state& state) noexcept {
  state_ = &state;  // not after add(): the listener reads it
  if (state.add(*this)) return true;
  state_ = nullptr;
  return false;
}
CORACLE_ALWAYS_INLINE() void stop_registration::remove() noexcept {
  if (!state_) return;
  state_->remove(*this);
  state_ = nullptr;  // not before: the listener, which may run on another thread until here, reads it
}
inline stop_reason stop_registration::why() const noexcept { return state_->reason(); }

inline bool stop_point::possible() noexcept {
  const stop_word seen = word_.load(memory_order_acquire); /*P1*/
  return !seen.has_state() || seen.state().has_source();
}
}  // namespace coracle::detail
