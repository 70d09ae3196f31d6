// coracle/channels/watch.hpp -- the latest value, and the wait for a newer one.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/detail/publication.hpp>
#include <type_traits>

namespace coracle {
template <class T>
class watch_observer;

namespace detail {
template <class T>
struct watch_state : publication {
  explicit watch_state(T&& initial) : value(make_published(std::move(initial))) {}

  plain<std::shared_ptr<const T>> value;  // belongs to the lock of the publication
};
}  // namespace detail

/// A value that one side sets and any number of observers follow. A slow observer skips values that were replaced in the
/// meantime, and always sees the latest.
///
///     coracle::watch<settings> current{load()};
///     auto mine = current.observe();
///     apply(*mine.get());
///     while (auto changed = co_await mine.changed()) apply(*changed);  // until the watch is destroyed
///
/// Prefer broadcast if every value matters.
/// Resumes on    changed(): the executor on which the observer suspended; outside any executor, inside set(), on its
///               thread.
/// Cancellation  a stop request ends the wait of changed(); a change that came meanwhile is seen by the next.
/// Exceptions    set(): std::bad_alloc, what moving a T throws. changed(): operation_cancelled.
/// Threads       all members are thread-safe; an observer belongs to one thread at a time. Observers outlive
///               the watch: its end wakes them, and the last value stays.
/// Cost          set(): one allocation, from the recycler. Readers share the value, by a std::shared_ptr:
///               nothing is copied, and no lock is held while anybody looks at a value or destroys it.
template <class T>
class watch {
  static_assert(std::is_object_v<T>, "a watch holds an object: use a pointer in place of a reference");

 public:
  explicit watch(T initial) : state_(std::make_shared<detail::watch_state<T>>(std::move(initial))) {}
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  ~watch() { state_->end(); }

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
  [[nodiscard("an observer that is dropped observes nothing")]] watch_observer<T> observe() const noexcept {
    return watch_observer<T>{state_};
  }

 private:
  const std::shared_ptr<detail::watch_state<T>> state_;
};

/// An observer of a watch. A copy continues independently from what this one has seen.
template <class T>
class watch_observer {
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
  /// null once the watch has ended and its last value was seen. One at a time.
  changed_operation changed() noexcept { return changed_operation{*this}; }

 private:
  friend watch<T>;
  explicit watch_observer(const std::shared_ptr<detail::watch_state<T>>& from) noexcept
      : state_(from), seen_(from->count()) {}

  std::shared_ptr<detail::watch_state<T>> state_;
  std::uint64_t seen_;  // how many values had been set at the last look
};

template <class T>
class [[nodiscard("a change is waited for only when this is awaited")]] watch_observer<T>::changed_operation
    : public detail::wait_for_more {
 public:
  explicit changed_operation(watch_observer& observer) noexcept
      : wait_for_more(*observer.state_, observer.seen_), observer_(&observer) {}
  std::shared_ptr<const T> await_resume() {
    finish();
    const std::uint64_t before = observer_->seen_;
    auto latest = observer_->get();
    if (observer_->seen_ == before) latest.reset();
    return latest;
  }

 private:
  watch_observer* observer_;
};
}  // namespace coracle
