// coracle/channels/watched_value.hpp -- the latest value, and notification of changes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/detail/publication.hpp>
#include <type_traits>

namespace coracle {
template <class T>
class value_observer;

namespace detail {
template <class T>
struct watched_state : publication {
  explicit watched_state(T&& initial) : value(detail::make_published(std::move(initial))) {}

  plain<std::shared_ptr<const T>> value;  // belongs to the lock of the publication
};
}  // namespace detail

/// A value that one side sets and any number of observers follow. A slow observer skips values that were
/// replaced in the meantime, and always sees the latest.
///
///     coracle::watched_value<settings> current{load()};
///     auto mine = current.observe();
///     apply(*mine.get());
///     while (auto changed = co_await mine.changed()) apply(*changed);  // until it is destroyed
///
/// Prefer broadcast if every value matters.
/// Resumes on    changed(): the executor on which the observer suspended; outside any executor, inside set(),
///               on its thread.
/// Cancellation  a stop request ends the wait of changed(); the next changed() reports a change made in the
///               meantime.
/// Exceptions    set(): std::bad_alloc, what moving a T throws. changed(): operation_cancelled.
/// Threads       all members are thread-safe; an observer is used by one thread at a time. Observers may
///               outlive the watched_value: its destructor wakes them, and they keep the last value.
/// Cost          set(): one allocation, from the recycler. Readers share the value through a std::shared_ptr:
///               nothing is copied, and no lock is held while a value is read or destroyed.
template <class T>
class watched_value {
  static_assert(std::is_object_v<T>,
                "a watched_value holds an object: use a pointer in place of a reference");

 public:
  explicit watched_value(T initial)
      : state_(std::make_shared<detail::watched_state<T>>(std::move(initial))) {}
  watched_value(const watched_value&) = delete;
  watched_value& operator=(const watched_value&) = delete;
  ~watched_value() { state_->end(); }

  void set(T value) {
    auto latest = detail::make_published(std::move(value));
    state_->publish([&](std::uint64_t) noexcept { state_->value.swap(latest); });
  }
  /// Returns the latest value, which stays unchanged as long as the result is kept.
  [[nodiscard]] std::shared_ptr<const T> get() const noexcept {
    std::shared_ptr<const T> latest;
    state_->read([&](std::uint64_t) noexcept { latest = state_->value; });
    return latest;
  }
  /// Returns an observer that has already seen the current value.
  [[nodiscard("an observer that is dropped observes nothing")]] value_observer<T> observe() const noexcept {
    return value_observer<T>{state_};
  }

 private:
  const std::shared_ptr<detail::watched_state<T>> state_;
};

/// An observer of a watched_value. A copy continues independently from what this one has seen.
template <class T>
class value_observer {
 public:
  /// Returns the latest value and marks it as seen; it stays unchanged as long as the result is kept.
  [[nodiscard]] std::shared_ptr<const T> get() noexcept {
    CORACLE_REQUIRE(state_, moved_from);
    std::shared_ptr<const T> latest;
    state_->read([&](std::uint64_t count) noexcept {
      latest = state_->value;
      seen_ = count;
    });
    return latest;
  }

  class changed_operation;
  /// Awaitable of std::shared_ptr<const T>: the latest value once there is one that this observer has not
  /// seen; null once the watched_value has ended and its last value was seen. One await at a time.
  changed_operation changed() noexcept {
    CORACLE_REQUIRE(state_, moved_from);
    return changed_operation{*this};
  }

 private:
  friend watched_value<T>;
  static constexpr const char* moved_from =
      "a value_observer that was moved from was used: use the one it was moved to";
  explicit value_observer(const std::shared_ptr<detail::watched_state<T>>& from) noexcept
      : state_(from), seen_(from->count()) {}
  [[nodiscard]] bool has_ended() const noexcept {
    CORACLE_REQUIRE(state_, moved_from);
    return state_->has_ended();
  }

  std::shared_ptr<detail::watched_state<T>> state_;
  std::uint64_t seen_;  // number of values set before the last one seen
};

template <class T>
class [[nodiscard("this waits for a change only when it is awaited")]] value_observer<T>::changed_operation
    : public detail::wait_for_more {
 public:
  explicit changed_operation(value_observer& observer) noexcept
      : wait_for_more(*observer.state_, observer.seen_), observer_(&observer) {}
  std::shared_ptr<const T> await_resume() {
    finish();
    const std::uint64_t before = observer_->seen_;
    const bool has_ended = observer_->has_ended();
    auto latest = observer_->get();
    if (has_ended && observer_->seen_ == before) latest.reset();
    return latest;
  }

 private:
  value_observer* observer_;
};
}  // namespace coracle
