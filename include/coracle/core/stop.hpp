// coracle/core/stop.hpp -- ask work to stop, and learn that one is asked.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/detail/atomic.hpp>
#include <coracle/detail/locked_word.hpp>
#include <coracle/detail/park.hpp>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

namespace coracle {
namespace detail {
/// A registered callback: a link in its state's list, inside the stop_callback.
struct stop_listener {
  using callback = void(stop_listener&) noexcept;
  explicit stop_listener(callback* on_stop) noexcept : run(on_stop) {}

  callback* run;
  // These belong to the state's lock. A listener is in the list, or it runs, or it has run.
  plain<stop_listener*> following;
  plain<plain<stop_listener*>*> link;  // what points here; null: not in the list any more
};

/// What a source, its tokens and their callbacks share.
class stop_state : public recycled_frames {
 public:
  /// For its first owner, and so many sources.
  explicit stop_state(std::uint32_t sources) noexcept : sources_(sources) {}
  stop_state(const stop_state&) = delete;
  stop_state& operator=(const stop_state&) = delete;

  [[nodiscard]] bool requested() const noexcept { return reason() != stop_reason::none; }
  [[nodiscard]] stop_reason reason() const noexcept { return reason_.load(memory_order_acquire); } /*R1*/
  [[nodiscard]] bool possible() const noexcept {
    return requested() || sources_.load(memory_order_relaxed) != 0; /*R3*/
  }

  /// Runs the listeners, oldest first, and those of the states linked to this. False: somebody else did or does.
  /// Requires: the caller has a reference meanwhile.
  bool request(stop_reason why) noexcept;
  /// Called by a listener of another state: requests it here, too; where many states are linked in a chain, once the
  /// listeners of the first have returned. So a chain of any length takes a bounded stack.
  void request_linked(stop_reason why) noexcept;
  /// False: stop was requested before, and the listener is not in the list.
  bool add(stop_listener& listener) noexcept;
  /// Afterwards the listener does not run and will not.
  void remove(stop_listener& listener) noexcept;

  void add_source() noexcept { sources_.fetch_add(1, memory_order_relaxed); }  /*R3*/
  void drop_source() noexcept { sources_.fetch_sub(1, memory_order_relaxed); } /*R3*/
  void keep() noexcept { references_.fetch_add(1, memory_order_relaxed); }     /*R4*/
  void drop() noexcept {
    if (references_.fetch_sub(1, memory_order_acq_rel) == 1) delete this; /*R5*/
  }
  /// For the holder of the only source: as drop_source() and drop(), for less if it has the only reference, too.
  void drop_only_source() noexcept {
    sources_.store(0, memory_order_relaxed);                             /*R3*/
    if (references_.load(memory_order_acquire) == 1) return delete this; /*R6*/
    drop();
  }

 protected:
  virtual ~stop_state() = default;
  /// False: the last reference has gone, and another thread is about to delete this.
  bool keep_unless_dropped() noexcept {
    std::uint32_t seen = references_.load(memory_order_relaxed);
    while (seen != 0) {
      if (references_.compare_exchange_weak(seen, seen + 1, memory_order_relaxed)) return true; /*R4*/
    }
    return false;
  }

 private:
  bool run_listeners(stop_reason why) noexcept;
  void run_next() noexcept;
  void lock() noexcept { static_cast<void>(lock_.lock()); }
  void unlock() noexcept { lock_.unlock(0); }

  // reason_ changes once, under the lock, so that a listener is either added before the requester looks at
  // the list or told that it came too late.
  //   [R1] load                    acquire  sees what the requester did before   pairs with R2
  //   [R2] none -> another         release  publishes it                         pairs with R1
  //   [R3] sources, any access     relaxed  a hint: a count that reaches 0 stays there
  //   [R4] references, one more    relaxed  whoever adds has one already, or R5 has not happened
  //   [R5] references, one less    acq_rel  the last one sees what the others did, then deletes
  //   [R6] load                    acquire  who has the only one sees what the others did      pairs with R5
  //   [R7] load                    relaxed  under the lock
  locked_word<std::uint32_t> lock_{0};
  atomic<stop_reason> reason_{stop_reason::none};
  atomic<std::uint32_t> references_{1};
  atomic<std::uint32_t> sources_;
  // What follows belongs to the lock; next_linked_ to the thread that has set linked_reason_.
  plain<stop_listener*> first_ = nullptr;
  plain<plain<stop_listener*>*> end_ = &first_;
  plain<stop_listener*> running_ = nullptr;
  plain<one_shot*> waits_for_it_ = nullptr;  // a thread that removes the running listener
  plain<const thread_state*> requester_ = nullptr;
  plain<stop_reason> linked_reason_ = stop_reason::none;  // it is to be requested by whoever has set this
  plain<stop_state*> next_linked_ = nullptr;
};

/// Wake-ups outside any executor that a callback makes wait until the last callback has returned. A coroutine
/// that ran inside one could deregister a callback that runs on another thread and in turn waits for this one.
class wake_after_callbacks {
 public:
  explicit wake_after_callbacks(thread_state& thread) noexcept
      : thread_(thread), depth_(std::exchange(thread.wake_depth, max_wake_depth)) {}
  wake_after_callbacks(const wake_after_callbacks&) = delete;
  wake_after_callbacks& operator=(const wake_after_callbacks&) = delete;
  /// Runs what has been put off, unless a callback or 64 wake-ups further out will.
  ~wake_after_callbacks() {
    if (depth_ != max_wake_depth) {
      const executor_scope outside{nullptr};
      thread_.wake_depth = depth_ + 1;
      run_late_wakeups(thread_);
    }
    thread_.wake_depth = depth_;
  }

 private:
  thread_state& thread_;
  unsigned depth_;
};

inline bool stop_state::request(stop_reason why) noexcept {
  CORACLE_CHECK(why != stop_reason::none, "a stop was requested for no reason: stop_reason::none");
  const wake_after_callbacks put_off{this_thread()};
  if (!run_listeners(why)) return false;
  linked_requests& linked = this_thread().requests;
  while (stop_state* const next = linked.first) {
    linked.first = next->next_linked_;
    next->run_listeners(next->linked_reason_);
    next->drop();
  }
  return true;
}
inline void stop_state::request_linked(stop_reason why) noexcept {
  linked_requests& linked = this_thread().requests;
  keep();
  if (linked.depth != linked_requests::most) {
    ++linked.depth;
    run_listeners(why);
    --linked.depth;
    return drop();
  }
  lock();
  const bool is_new =
      linked_reason_ == stop_reason::none && reason_.load(memory_order_relaxed) == stop_reason::none; /*R7*/
  if (is_new) linked_reason_ = why;
  unlock();
  if (!is_new) return drop();
  next_linked_ = nullptr;
  if (linked.first) {
    linked.last->next_linked_ = this;
  } else {
    linked.first = this;
  }
  linked.last = this;
}

inline bool stop_state::run_listeners(stop_reason why) noexcept {
  lock();
  if (reason_.load(memory_order_relaxed) != stop_reason::none) { /*R7*/
    unlock();
    return false;
  }
  reason_.store(why, memory_order_release); /*R2*/
  requester_ = &this_thread();
  while (first_) run_next();
  requester_ = nullptr;
  unlock();
  return true;
}

/// Called with the lock held, which is held again when it returns; not while the listener runs. That may be gone then,
/// from inside its call.
inline void stop_state::run_next() noexcept {
  stop_listener& listener = *first_;
  first_ = listener.following;
  (first_ ? first_->link : end_) = &first_;
  listener.link = nullptr;
  running_ = &listener;
  unlock();
  listener.run(listener);
  lock();
  running_ = nullptr;
  if (one_shot* const waits = std::exchange(waits_for_it_, nullptr)) [[unlikely]] {
    unlock();
    waits->set();
    lock();
  }
}

CORACLE_NOINLINE() inline bool stop_state::add(stop_listener& listener) noexcept {
  lock();
  const bool in_time = reason_.load(memory_order_relaxed) == stop_reason::none; /*R7*/
  if (in_time) {
    listener.following = nullptr;
    listener.link = end_;
    *end_ = &listener;
    end_ = &listener.following;
  }
  unlock();
  return in_time;
}

CORACLE_NOINLINE() inline void stop_state::remove(stop_listener& listener) noexcept {
  one_shot returned;
  bool waits = false;
  lock();
  if (listener.link) {
    *listener.link = listener.following;
    (listener.following ? listener.following->link : end_) = listener.link;
  } else if (running_ == &listener && requester_ != &this_thread()) {
    waits = true;
    waits_for_it_ = &returned;
  }
  unlock();
  if (waits) [[unlikely]]
    returned.wait();
}

/// Follows a std::stop_token.
class following_state final : public stop_state {
 public:
  explicit following_state(const std::stop_token& followed) : stop_state(1), relay_(followed, relay{this}) {}

 private:
  struct relay {
    following_state* self;
    void operator()() const noexcept {
      // While it runs it holds a reference, so no other thread waits for it inside the destructor.
      if (!self->keep_unless_dropped()) return;
      self->request(stop_reason::requested);
      self->drop();
    }
  };
  std::stop_callback<relay> relay_;
};
class stop_registration;
class linked_stop_source;
}  // namespace detail

/// Tells whether stop was requested, and why. Any number of them see one stop_source.
///
///     while (!token.stop_requested()) co_await step();
///
/// Converts from std::stop_token (one allocation); the way back is a callback:
///     coracle::stop_callback relay{token, [&source] { source.request_stop(); }};  // a std::stop_source
///
/// Threads  any number of threads may use copies at once.
/// Cost     one pointer; a copy is an atomic increment.
class stop_token {
 public:
  /// One that is never requested.
  stop_token() noexcept = default;
  /// Follows `other`. Throws std::bad_alloc.
  stop_token(const std::stop_token& other)  // NOLINT: a token is a token
      : state_(other.stop_possible() ? new detail::following_state(other) : nullptr) {}
  stop_token(const stop_token& other) noexcept : state_(other.state_) {
    if (state_) state_->keep();
  }
  stop_token(stop_token&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  stop_token& operator=(stop_token other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~stop_token() {
    if (state_) state_->drop();
  }

  /// Once true, always true; what the requester did before is then visible.
  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  /// Why; none: it is not requested.
  [[nodiscard]] stop_reason reason() const noexcept { return state_ ? state_->reason() : stop_reason::none; }
  /// False: stop was not requested and nobody is left who could.
  [[nodiscard]] bool stop_possible() const noexcept { return state_ && state_->possible(); }

  friend bool operator==(const stop_token&, const stop_token&) = default;

 private:
  friend class stop_source;
  friend class detail::stop_registration;
  friend class detail::linked_stop_source;
  template <class>
  friend class stop_callback;
  explicit stop_token(detail::stop_state* kept) noexcept : state_(kept) {}

  detail::stop_state* state_ = nullptr;
};

/// Requests stop. Copies share one state.
///
///     coracle::stop_source source;
///     co_await coracle::with_stop(serve(), source.get_token());  // elsewhere: source.request_stop()
///
/// Order       callbacks run in the order of their registration, before request_stop() returns.
/// Resumes on  what a callback wakes outside any executor goes on after the last callback, inside request_stop().
/// Threads     all members are thread-safe; only the first request runs the callbacks.
/// Cost        one allocation a source, none a token or a callback.
class stop_source {
 public:
  /// Throws std::bad_alloc.
  stop_source() : state_(new detail::stop_state(1)) {}
  stop_source(const stop_source& other) noexcept : state_(other.state_) {
    if (!state_) return;
    state_->keep();
    state_->add_source();
  }
  stop_source(stop_source&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  stop_source& operator=(stop_source other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~stop_source() {
    if (!state_) return;
    state_->drop_source();
    state_->drop();
  }

  /// An empty token, if this was moved from.
  [[nodiscard]] stop_token get_token() const noexcept {
    if (state_) state_->keep();
    return stop_token{state_};
  }
  /// True: this was the first request. Then all callbacks have returned when this does. Requires: a reason.
  bool request_stop(stop_reason why = stop_reason::requested) noexcept {
    if (!state_) return false;
    detail::stop_state* const state = state_;
    state->keep();  // a callback may drop the last source
    const bool first = state->request(why);
    state->drop();
    return first;
  }
  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  [[nodiscard]] stop_reason reason() const noexcept { return state_ ? state_->reason() : stop_reason::none; }

  friend bool operator==(const stop_source&, const stop_source&) = default;

 private:
  detail::stop_state* state_ = nullptr;
};

/// Calls a function once stop is requested: in its own constructor, if that has happened; else inside
/// request_stop(), on the requester's thread. Destroying it deregisters the function.
///
///     coracle::stop_callback on_stop{token, [&]() noexcept { event.set(); }};
///
/// Order       none among the callbacks that one request runs, but the order of registration.
/// Exceptions  the function must not throw: std::terminate.
/// Threads     the destructor returns when the function does not run and will not: it waits for a call on another
///             thread, and does not wait inside its own. No coroutine that a callback wakes runs inside it, so two
///             callbacks that wake each other's owners cannot wait for each other.
/// Cost        no allocation.
template <class Function>
class [[nodiscard("a stop_callback that is dropped is deregistered at once: give it a name")]] stop_callback
    : detail::stop_listener {
 public:
  template <class F>
    requires std::is_constructible_v<Function, F>
  stop_callback(stop_token token, F&& function) noexcept(std::is_nothrow_constructible_v<Function, F>)
      : stop_listener(&call), function_(static_cast<F&&>(function)), token_(std::move(token)) {
    if (token_.state_ && !token_.state_->add(*this)) {
      token_ = {};
      call(*this);
    }
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;
  ~stop_callback() {
    if (token_.state_) token_.state_->remove(*this);
  }

 private:
  static void call(stop_listener& self) noexcept { static_cast<stop_callback&>(self).function_(); }

  Function function_;
  stop_token token_;
};
template <class Function>
stop_callback(stop_token, Function) -> stop_callback<Function>;

namespace detail {
/// A listener that an awaiter adds while it waits. Holds no reference: whoever awaits keeps the token alive.
class stop_registration : public stop_listener {
 public:
  using stop_listener::stop_listener;
  stop_registration(const stop_registration&) = delete;
  stop_registration& operator=(const stop_registration&) = delete;

  /// False: stop was requested before, and the listener will not run.
  bool add_to(const stop_token& token) noexcept {
    if (!token.state_) return true;
    state_ = token.state_;  // not after add(): the listener reads it
    if (state_->add(*this)) return true;
    state_ = nullptr;
    return false;
  }
  /// Afterwards the listener does not run and will not. No effect if it was not added.
  void remove() noexcept {
    if (!state_) return;
    state_->remove(*this);
    state_ = nullptr;  // not before: the listener, which may run on another thread until here, reads it
  }
  /// Why stop was requested. Requires: added.
  [[nodiscard]] stop_reason why() const noexcept { return state_->reason(); }

 private:
  plain<stop_state*> state_ = nullptr;  // null: not added
};

/// A source of its own that also stops when `outer`, which outlives it, does: for the same reason.
class linked_stop_source : stop_registration {
 public:
  /// Throws std::bad_alloc.
  explicit linked_stop_source(const stop_token& outer)
      : stop_registration(&outer_stopped), state_(new stop_state(1)) {
    if (!add_to(outer)) state_->request(outer.reason());
  }
  explicit linked_stop_source(stop_token&& outer) = delete;
  ~linked_stop_source() {
    remove();
    state_->drop_only_source();
  }

  [[nodiscard]] stop_token get_token() const noexcept {
    state_->keep();
    return stop_token{state_};
  }
  /// A token that is taken back before this goes: cheaper than one of its own.
  [[nodiscard]] stop_token lend_token() const noexcept { return stop_token{state_}; }
  static void take_back(stop_token& lent) noexcept { lent.state_ = nullptr; }

  /// Requires: this lives until the callbacks have returned.
  bool request_stop(stop_reason why) noexcept { return state_->request(why); }
  /// As request_stop(), for a callback of another source.
  void request_linked(stop_reason why) noexcept { state_->request_linked(why); }
  [[nodiscard]] stop_reason reason() const noexcept { return state_->reason(); }

 private:
  static void outer_stopped(stop_listener& self) noexcept {
    auto& mine = static_cast<linked_stop_source&>(self);
    mine.request_linked(mine.why());
  }
  stop_state* state_;
};
}  // namespace detail
}  // namespace coracle
