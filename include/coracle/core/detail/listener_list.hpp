// coracle/core/detail/listener_list.hpp -- the callbacks of a stop request, and the lock of their list.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/locked_word.hpp>
#include <coracle/base/plain.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <cstdint>

namespace coracle::detail {
/// A registered callback: a link in the list of its state, stored in the stop_callback.
struct stop_listener {
  using callback = void(stop_listener&) noexcept;
  explicit stop_listener(callback* on_stop) noexcept : run(on_stop) {}

  callback* run;
  // Guarded by the state's lock. A listener is in the list, or it is running, or it has run.
  plain<stop_listener*> following;
  plain<plain<stop_listener*>*> link;  // the pointer to this listener; null: no longer in the list
};

/// Listeners, oldest first. Its word is the lock of a stop_state and also records the listeners, so adding
/// and removing a single listener take one atomic operation each:
///
///     nobody    the list is empty, and open
///     only      a single listener, as its address; it is not in the list
///     several   all listeners are in the list, even if there is only one
///     closed    all are in the list; none can be added, or not before the state is linked to an outer one
//
// The lock's rows are those of locked_word.
class listener_list {
 public:
  class word {
    /// `locked` is the lock_bit of the exchanged_word: a word with this bit carries no other information.
    enum class tag : std::uintptr_t { nobody = 0, locked = 1, several = 2, closed = 4, mask = 7 };
    using pointer = tagged_pointer<stop_listener, tag>;
    static_assert(alignof(stop_listener) > pointer::mask);

   public:
    [[nodiscard]] bool is_nobody() const noexcept { return word_ == tag::nobody; }
    [[nodiscard]] bool is_closed() const noexcept { return word_ == tag::closed; }
    [[nodiscard]] bool is_only(stop_listener& listener) const noexcept { return word_ == pointer(&listener); }

   private:
    friend listener_list;
    word(pointer of) noexcept : word_(of) {}  // NOLINT: it is that
    pointer word_;
  };

  explicit listener_list(bool closed) noexcept
      : word_((closed ? word::pointer(word::tag::closed) : word::pointer(word::tag::nobody)).bits()) {}

  /// Takes the lock in two steps. The first returns the word; the second is needed only if the caller cannot
  /// handle that word, which makes the common cases cheaper. Afterwards all listeners are in the list.
  [[nodiscard]] word begin_lock() noexcept { return word::pointer::from_bits(word_.begin_lock()); }
  CORACLE_ALWAYS_INLINE() word end_lock(word begun) noexcept {
    const auto seen = word::pointer::from_bits(word_.end_lock(begun.word_.bits()));
    if (!seen.has_pointer()) return seen;
    append(*seen.pointer_tagged(word::tag::nobody));
    return word::pointer(word::tag::several);
  }
  [[nodiscard]] word lock() noexcept { return end_lock(begin_lock()); }
  void unlock(bool closed) noexcept {
    leave(closed ? word::tag::closed : first_ ? word::tag::several : word::tag::nobody);
  }
  /// nobody -> only. Requires: begin_lock() found nobody.
  void unlock_with_only(stop_listener& listener) noexcept { leave(word::pointer(&listener)); }
  /// only -> nobody. Requires: begin_lock() found a single listener.
  void unlock_empty() noexcept { leave(word::tag::nobody); }

  // All of these are called with the lock held, after both steps.
  [[nodiscard]] bool empty() const noexcept { return !first_; }
  void append(stop_listener& listener) noexcept {
    listener.following = nullptr;
    listener.link = end_;
    *end_ = &listener;
    end_ = &listener.following;
  }
  /// Requires: not empty.
  stop_listener& take_first() noexcept {
    stop_listener& first = *first_;
    take_out(first);
    first.link = nullptr;
    return first;
  }
  /// Requires: in the list.
  void take_out(stop_listener& listener) noexcept {
    *listener.link = listener.following;
    (listener.following ? listener.following->link : end_) = listener.link;
  }

 private:
  void leave(word::pointer next) noexcept { word_.unlock(next.bits()); }

  exchanged_word<std::uintptr_t> word_;
  plain<stop_listener*> first_ = nullptr;
  plain<plain<stop_listener*>*> end_ = &first_;
};
}  // namespace coracle::detail
