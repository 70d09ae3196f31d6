// coracle/core/detail/queued_waiter.hpp -- a coroutine's node in a wait queue, and its removal.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/plain.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/detail/stop_state.hpp>
#include <coracle/core/executor.hpp>
#include <cstdint>
#include <new>

namespace coracle::detail {
/// The position of a waiter in its queue, or one of the states that need no position, in one word.
//
//   unused     the awaiter has not had to wait, and the rest of the queued_waiter does not exist
//   arriving   not queued yet; its coroutine runs await_suspend
//   queued     suspended. In a list: the address of the pointer to the waiter. Alone in the word of an event,
//              or served from there: without an address
//   served     has received what it waited for
//   cancelled  has not and will not, for the reason in the bits above; a waiter cancelled before it was
//              queued is never queued
class wait_place {
 public:
  enum state : std::uintptr_t { queued, arriving, served, cancelled, mask = 3 };

  wait_place(state now) noexcept : word_(word(now)) {}  // NOLINT: it is that
  static wait_place cancelled_for(stop_reason why) noexcept {
    return wait_place(word::from_bits(cancelled | static_cast<std::uintptr_t>(why) << reason_shift));
  }
  static wait_place unused() noexcept { return wait_place(word::from_bits(no_place)); }

  [[nodiscard]] bool is_unused() const noexcept { return now().bits() == no_place; }
  [[nodiscard]] state progress() const noexcept { return now().tag(); }
  [[nodiscard]] bool is_queued_alone() const noexcept { return now() == queued; }
  /// Requires: cancelled.
  [[nodiscard]] stop_reason reason() const noexcept {
    return static_cast<stop_reason>(now().bits() >> reason_shift);
  }

  // For intrusive_list.
  wait_place& operator=(plain<resumption*>* link) noexcept {
    word_ = word(link);
    return *this;
  }
  operator plain<resumption*>*() const noexcept { return now().pointer_tagged(queued); }  // NOLINT

 private:
  using word = tagged_pointer<plain<resumption*>, state>;
  static_assert(alignof(plain<resumption*>) > word::mask);
  static constexpr unsigned reason_shift = 2;
  static constexpr std::uintptr_t no_place = ~std::uintptr_t{0};  // its state is not `queued`

  explicit wait_place(word is) noexcept : word_(is) {}
  [[nodiscard]] word now() const noexcept { return word_; }

  plain<word> word_;
};

/// A coroutine's entry in a wait queue. It is part of the awaiter, and so of the frame of each coroutine that
/// waits: keep it small.
//
// `link` is guarded by the lock of the queue. The code that moves a waiter out of `queued` wakes it: either
// the code that serves it or the stop request that cancels it, never both.
struct queued_waiter : waiter, stop_listener {
  using state = wait_place::state;
  static constexpr state queued = wait_place::queued, arriving = wait_place::arriving,
                         served = wait_place::served, cancelled = wait_place::cancelled;
  queued_waiter(std::coroutine_handle<> suspended, stop_listener::callback* on_stop) noexcept
      : waiter(suspended), stop_listener(on_stop), bond_(bond(nullptr)), link(arriving) {}
  queued_waiter(const queued_waiter&) = delete;
  queued_waiter& operator=(const queued_waiter&) = delete;

  /// Initialises the part that its awaiter needs before the rest exists.
  void mark_unused() noexcept { ::new (static_cast<void*>(&link)) wait_place(wait_place::unused()); }
  [[nodiscard]] bool is_unused() const noexcept { return link.is_unused(); }

  [[nodiscard]] state progress() const noexcept { return link.progress(); }
  /// Not for `cancelled`.
  void set_progress(state now) noexcept { link = wait_place(now); }
  /// Returns true if it waits alone in the word of its event, or was served from there.
  [[nodiscard]] bool is_queued_alone() const noexcept { return link.is_queued_alone(); }
  [[nodiscard]] bool is_branch() const noexcept { return bound().has(bond_tag::branch); }
  /// Returns null if this is its coroutine's only wait.
  [[nodiscard]] choice* one_of() const noexcept { return is_branch() ? &of_branch() : nullptr; }
  /// Makes this its coroutine's only wait. Must not run while the listener may call why().
  void leave_choice() noexcept { bond_ = bond(stops()); }

  /// Called once. `from`: what stops its coroutine's only wait, or null. Returns false if stop was already
  /// requested; the listener will then not run.
  [[nodiscard]] bool listen(stop_state* from) noexcept {
    bond_ = bond(from);  // not after add(): the listener reads it
    return !from || from->add(*this);
  }
  /// As listen(from), for a branch of a choice.
  [[nodiscard]] bool listen(stop_state* from, choice& one_of) noexcept {
    bond_ = bond(&one_of, bond_tag::branch);
    if (!from) return true;
    one_of.set_stops(*from);
    return from->add(*this);
  }
  /// After this call the listener is not running and will not run. No effect if it was not added.
  void remove() noexcept {
    stop_state* const from = stops();
    if (!from) return;
    from->remove(*this);
    bond_ = bond(nullptr);  // not before: the listener reads it, and may run on another thread until here
  }
  /// As remove(). Requires: cancelled by its listener, and its coroutine's only wait.
  void remove_called() noexcept {
    if (stop_state* const from = stops()) from->wait_for_called(*this);
  }
  [[nodiscard]] bool is_added() const noexcept { return stops() != nullptr; }
  [[nodiscard]] stop_reason why() const noexcept { return stops()->reason(); }

  /// arriving -> queued or served. Returns false if stop was requested meanwhile or, where it would be
  /// served, its choice is lost.
  [[nodiscard]] bool arrive(state at) noexcept {
    if (progress() == cancelled) return false;
    const bool lost = at == served && !claim();
    lost ? cancel_for(stop_reason::lost_race) : set_progress(at);
    return !lost;
  }
  /// Called before it is served. Returns false if another branch of its coroutine is served and this one is
  /// lost.
  [[nodiscard]] bool claim() noexcept { return !is_branch() || of_branch().claim(); }
  /// queued -> served or, if it is lost, cancelled. The caller must wake it.
  bool leave() noexcept {
    const bool lost = !claim();
    lost ? cancel_for(stop_reason::lost_race) : set_progress(served);
    return !lost;
  }
  /// Returns true if another branch of its coroutine has been served.
  [[nodiscard]] bool is_lost() const noexcept { return is_branch() && of_branch().is_claimed(); }
  /// Cancels it, unless it has been served or lost, in which case its coroutine may already be examining it.
  /// Returns true if it was queued; the caller must then have it woken. Requires: no longer linked.
  [[nodiscard]] bool cancel() noexcept {
    const state before = progress();
    if (before == served || before == cancelled) return false;
    cancel_for(is_added() ? why() : stop_reason::lost_race);
    return before == queued;
  }
  /// For a waiter that has not been queued, and whose listener has not been added.
  void refuse_for(stop_reason why) noexcept {
    bond_ = bond(nullptr);
    cancel_for(why);
  }
  void cancel_for(stop_reason why) noexcept { link = wait_place::cancelled_for(why); }
  /// The reason for which it was cancelled. Requires: cancelled.
  [[nodiscard]] stop_reason reason() const noexcept { return link.reason(); }

 private:
  /// What the wait is registered with: nothing; the stop state of its coroutine's only wait; or a choice,
  /// which refers to the stop state of all its branches.
  enum class bond_tag : std::uintptr_t { only = 0, branch = 1, mask = 1 };
  using bond = tagged_pointer<void, bond_tag>;
  static_assert(alignof(choice) > bond::mask);

  [[nodiscard]] bond bound() const noexcept { return bond_; }
  [[nodiscard]] choice& of_branch() const noexcept {
    return *static_cast<choice*>(bound().pointer_tagged(bond_tag::branch));
  }
  [[nodiscard]] stop_state* stops() const noexcept {
    return is_branch() ? of_branch().stops()
                       : static_cast<stop_state*>(bound().pointer_tagged(bond_tag::only));
  }

  plain<bond> bond_;

 public:
  /// intrusive_list requires the name. The last member: stoppable_wait reads it before the rest exists.
  wait_place link;
};
}  // namespace coracle::detail
