// coracle/channels/watched_value.hpp -- the latest value, and the wait for a newer one.
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
  explicit watched_state(T&& initial) : value(make_published(std::move(initial))) {}

  plain<std::shared_ptr<const T>> value;  // belongs to the lock of the publication
};
}  // namespace detail

/// A value that one side sets and any number of observers follow. A slow observer skips values that were replaced in the
/// meantime, and always sees the latest.
///
///     coracle::watched_value<settings> current{load()};
///     auto mine = current.observe();
///     apply(*mine.get());
///     while (auto changed = co_await mine.changed()) apply(*changed);  // until it is destroyed
///
/// Prefer broadcast if every value matters.
/// Resumes on    changed(): the executor on which the observer suspended; outside any executor, inside set(), on its
///               thread.
/// Cancellation  a stop request ends the wait of changed(); a change that came meanwhile is seen by the next.
/// Exceptions    set(): std::bad_alloc, what moving a T throws. changed(): operation_cancelled.
/// Threads       all members are thread-safe; an observer belongs to one thread at a time. Observers outlive
///               the watched_value: its end wakes them, and the last value stays.
/// Cost          set(): one allocation, from the recycler. Readers share the value, by a std::shared_ptr:
///               nothing is copied, and no lock is held while anybody looks at a value or destroys it.
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
  /// The latest value; it stays as it is while this is kept.
  [[nodiscard]] std::shared_ptr<const T> get() const noexcept {
    std::shared_ptr<const T> latest;
    state_->read([&](std::uint64_t) noexcept { latest = state_->value; });
    return latest;
  }
  /// One to which the present value is not new.
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
  /// The latest value, which is not new any more; it stays as it is while this is kept.
  [[nodiscard]] std::shared_ptr<const T> get() noexcept {
    std::shared_ptr<const T> latest;
    state_->read([&](std::uint64_t count) noexcept {
      latest = state_->value;
      seen_ = count;
    });
    return latest;
  }

  class changed_operation;
  /// Awaitable of std::shared_ptr<const T>: the latest value once there is one that is new to this observer;
  /// null once the watched_value has ended and its last value was seen. One at a time.
  changed_operation changed() noexcept { return changed_operation{*this}; }

 private:
  friend watched_value<T>;
  explicit value_observer(const std::shared_ptr<detail::watched_state<T>>& from) noexcept
      : state_(from), seen_(from->count()) {}

  std::shared_ptr<detail::watched_state<T>> state_;
  std::uint64_t seen_;  // how many values had been set at the last look
};

template <class T>
class [[nodiscard("a change is waited for only when this is awaited")]] value_observer<T>::changed_operation
    : public detail::wait_for_more {
 public:
  explicit changed_operation(value_observer& observer) noexcept
      : wait_for_more(*observer.state_, observer.seen_), observer_(&observer) {}
  std::shared_ptr<const T> await_resume() {
    finish();
    const std::uint64_t before = observer_->seen_;
    auto latest = observer_->get();
    if (observer_->seen_ == before) latest.reset();
    return latest;
  }

 private:
  value_observer* observer_;
};
}  // namespace coracle
