// coracle/compose/single_flight.hpp -- concurrent calls for the same key share one execution.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/detail/parent_of_children.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <cstddef>
#include <functional>
#include <unordered_map>

namespace coracle {
/// Concurrent calls with an equal key share one execution of the work, and its result. It is not a cache: a
/// call after the work has ended starts it again, even before the callers of the first have resumed. So let
/// the work itself store a result that later calls are to find (docs/recipes.md#a-cache).
///
///     coracle::single_flight<std::string, page> pages;
///     page p = co_await pages.run(url, [url] { return fetch(url); });  // in any number of coroutines
///
/// The result is copied to each caller: use a std::shared_ptr<const X> where copies are expensive. The
/// function is moved in, and that of the first caller is called. It may outlive that caller, which may be
/// stopped and return early, so it must not refer to the caller's variables. Work that calls run() with its
/// own key waits for itself, a deadlock.
/// Order         callers are woken first come, first served.
/// Resumes on    each caller where it suspended. The work begins inside the first call and belongs to the
///               executor of that call, even after that caller has left.
/// Cancellation  a stopped caller leaves immediately, and the work continues for the others. When the last
///               one is stopped, so is the work, for the same reason, and that caller leaves once the work
///               has ended: no work outlives its callers. A call with that key meanwhile starts the work
///               anew. The work inherits nothing from the callers: no stop token, deadline or values. It
///               ends without an exception if its last caller does: docs/cancellation.md.
/// Exceptions    those of the work, thrown to all callers as the same object; std::bad_alloc.
/// Threads       run() from any thread. The single_flight must outlive all calls. Copies of the result are
///               made from one object on several threads at once. The key's hash and comparison run under a
///               lock.
/// Cost          a call: one frame; the first of a key: a stop source, the work's frame and two more blocks.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class single_flight {
  static_assert(std::is_void_v<T> || std::is_reference_v<T> || std::is_copy_constructible_v<T>,
                "single_flight copies the result to each caller: make it a std::shared_ptr");
  class flight;
  class caller;
  class start_operation;

 public:
  single_flight() = default;
  single_flight(const single_flight&) = delete;
  single_flight& operator=(const single_flight&) = delete;
  /// Requires: no call is running.
  ~single_flight() {
    CORACLE_REQUIRE(flight_count_ == 0,
                    "a single_flight was destroyed while calls of it run: join them first");
  }

  /// Awaitable of the result of `work()`, which returns an awaitable of `T`, or of the result of a call in
  /// progress.
  template <class Work>
    requires(awaitable_of<std::invoke_result_t<std::decay_t<Work>&>, T>)
  CORACLE_CORO_WRAPPER()
  task<T> run(Key key, Work&& work) {
    return run_shared(std::move(key), std::decay_t<Work>(static_cast<Work&&>(work)));
  }
  template <class Work>
  auto run(Key, Work&&) {
    static_assert(!sizeof(std::decay_t<Work>*),
                  "single_flight::run(key, work) needs a function, which returns an awaitable of the result: "
                  "[url] { return fetch(url); }; only that of the first caller is called");
    return detail::any_awaiter{};
  }

 private:
  template <class Work>
  task<T> run_shared(Key key, Work work);
  template <class Work>
  static task<> carry_out(flight& mine, Work work);
  /// Returns why the wait was stopped, or none. Its only error: allocation of the stop state failed.
  static stop_reason stop_of(const outcome<void>& wait) noexcept {
    return wait.has_error() ? stop_reason::out_of_memory : wait.reason();
  }

  detail::small_mutex mutex_;
  std::unordered_map<Key, detail::plain<flight*>, Hash, Equal>
      flights_;                                  // flights open to more callers; mutex_
  detail::plain<std::size_t> flight_count_ = 0;  // all flights; mutex_
};

/// One execution of the work. Lives from the arrival of the first caller until the last one, which joins it,
/// has left.
//
// The result belongs to the work until `ended` is set, then to all callers, which share it. The work's task
// belongs to the first caller until it is started. `awaited_by_` belongs to the last caller until it requests
// stop, and then to the walks of those that are stopped: each has seen the request. They go on to that
// caller, which is suspended until `ended` is set, or about to be: its parent does not change.
template <class Key, class T, class Hash, class Equal>
class single_flight<Key, T, Hash, Equal>::flight : public detail::shared_frame,
                                                   public detail::recycled_memory {
 public:
  flight(single_flight& owner, const Key& key)
      : detail::shared_frame(&work_ended, &functions), owner_(owner), key_(key) {
    inherited_.stop = source.get_token();
    promise().set_environment(&inherited_);
  }

  /// Ends the work: later callers start a new flight. The last caller may destroy this.
  void finish() noexcept {
    {
      const detail::small_mutex_lock locked{owner_.mutex_};
      close();
    }
    ended.set();
  }
  /// Closes the flight to further callers. Called under the lock.
  void close() noexcept {
    const auto found = owner_.flights_.find(key_);
    if (found != owner_.flights_.end() && found->second == this) owner_.flights_.erase(found);
  }
  /// Stops the work on behalf of the last caller, which then joins it.
  void stop_for(detail::awaiting_frame last_caller, stop_reason why) noexcept {
    awaited_by_ = last_caller;
    source.request_stop(why);
  }

  async_manual_reset_event ended;
  task<> work;
  outcome<T> result;
  detail::plain<std::size_t> callers = 1;  // the owner's mutex_

 private:
  static void work_ended(detail::basic_callback_frame<detail::shared_promise>* self) {
    static_cast<flight&>(static_cast<detail::shared_frame&>(*self)).finish();
  }
  /// The work itself may be stopped by a request of its own: then an exception is seen.
  static detail::awaiting_frame above(detail::shared_promise& self, stop_reason why) noexcept {
    auto& mine = static_cast<flight&>(detail::shared_frame::from(self));
    return mine.inherited_.stop.reason() == why ? mine.awaited_by_ : detail::awaiting_frame();
  }
  static constexpr detail::shared_promise::functions functions{&detail::shared_promise::ignore_failure,
                                                               &above};

  stop_source source;
  detail::awaiting_frame awaited_by_;
  single_flight& owner_;
  Key key_;
  environment inherited_;
};

/// One caller.
template <class Key, class T, class Hash, class Equal>
class single_flight<Key, T, Hash, Equal>::caller {
 public:
  caller(single_flight& owner, const Key& key) : owner_(owner) {
    const detail::small_mutex_lock locked{owner.mutex_};
    const auto [place, is_new] = owner.flights_.try_emplace(key, nullptr);
    if (!is_new) {
      flight_ = place->second;
      ++flight_->callers;
      return;
    }
    struct undo {
      ~undo() {
        if (!place->second) flights.erase(place);
      }
      decltype(owner.flights_)& flights;
      decltype(owner.flights_.begin()) place;
    } const if_it_throws{owner.flights_, place};
    place->second = flight_ = new flight(owner, key);
    ++owner.flight_count_;
    is_first_ = true;
  }
  caller(const caller&) = delete;
  caller& operator=(const caller&) = delete;
  ~caller() { leave(); }

  [[nodiscard]] flight& its_flight() const noexcept { return *flight_; }
  [[nodiscard]] bool is_first() const noexcept { return is_first_; }
  /// Returns true if it was the last caller: the work is then stopped, and the caller must join it.
  [[nodiscard]] bool give_up(detail::awaiting_frame its_frame, stop_reason why) noexcept {
    {
      const detail::small_mutex_lock locked{owner_.mutex_};
      if (flight_->callers != 1) {
        --flight_->callers;
        flight_ = nullptr;
        return false;
      }
      flight_->close();
    }
    flight_->stop_for(its_frame, why);
    return true;
  }

 private:
  void leave() noexcept {
    if (!flight_) return;
    CORACLE_REQUIRE(
        flight_->ended.is_set(),
        "a coroutine was destroyed while it waits in single_flight::run(): stop and join it first");
    {
      const detail::small_mutex_lock locked{owner_.mutex_};
      if (--flight_->callers != 0) return;
      --owner_.flight_count_;
    }
    delete flight_;
  }

  single_flight& owner_;
  flight* flight_ = nullptr;
  bool is_first_ = false;
};

/// Waits for the end of the work, and starts it by a transfer.
template <class Key, class T, class Hash, class Equal>
class single_flight<Key, T, Hash, Equal>::start_operation {
 public:
  explicit start_operation(flight& started) noexcept
      : flight_(started), wait_(started.ended.operator co_await()) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    // A caller that waits may leave and destroy this awaiter; the flight exists until the work has ended.
    flight& started = flight_;
    auto work = std::move(started.work).operator co_await();
    if (wait_.await_suspend(suspended)) return work.await_suspend(started.handle());
    // The caller is stopped already, but others may have joined.
    detail::suspend_into(work, started.handle());
    return transfer_to(suspended);
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept { return wait_.await_cancelled(); }
  void await_resume() { wait_.await_resume(); }

 private:
  flight& flight_;
  async_manual_reset_event::wait_operation wait_;
};

// The function lives in this frame and not in that of the caller, which may leave before the work has ended.
template <class Key, class T, class Hash, class Equal>
template <class Work>
task<> single_flight<Key, T, Hash, Equal>::carry_out(flight& mine, Work work) {
  CORACLE_TRY() {
    auto end = co_await detail::passing(work());
    if (!end.has_value()) {
      detail::copy_failure(end, mine.result);
    } else if constexpr (std::is_void_v<T>) {
      mine.result.emplace();
    } else {
      mine.result.emplace(std::move(end).get());
    }
  }
  CORACLE_CATCH_ALL() { mine.result.emplace_current_exception(); }
}

template <class Key, class T, class Hash, class Equal>
template <class Work>
task<T> single_flight<Key, T, Hash, Equal>::run_shared(Key key, Work work) {
  const detail::parent_of_children above = co_await detail::parent_of_children();
  if (const stop_reason why = above.inherited().stop.reason(); why != stop_reason::none)
    co_await detail::ends_as_stopped(why);
  caller me{*this, key};
  flight& mine = me.its_flight();
  stop_reason why = stop_reason::none;
  if (!me.is_first()) {
    why = stop_of(co_await as_outcome(mine.ended));
  } else {
    CORACLE_TRY() { mine.work = carry_out<Work>(mine, std::move(work)); }
    CORACLE_CATCH_ALL() {
      mine.result.emplace_current_exception();
      mine.finish();
    }
    if (mine.work) why = stop_of(co_await as_outcome(start_operation{mine}));
  }
  if (why != stop_reason::none) {
    if (me.give_up(above.frame(), why)) {
      co_await detail::out_of_reach();
      co_await mine.ended;
    }
    co_await detail::ends_as_stopped(why);
  }
  co_await detail::ends_unless_value(mine.result);
  co_return mine.result.get();
}
}  // namespace coracle
