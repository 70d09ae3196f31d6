// coracle/core/stop.hpp -- ask work to stop, and learn that one is asked.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/detail/atomic.hpp>
#include <coracle/detail/small_mutex.hpp>
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
  // All but `returned` belong to the state's mutex. A listener is in the list, or it runs, or it has run.
  plain<stop_listener*> next = nullptr;
  plain<stop_listener**> link = nullptr;  // what points here; null: not in the list
  one_shot returned;  // set by the requester unless the listener went from inside its call
};

/// What a source, its tokens and their callbacks share.
class stop_state {
 public:
  stop_state() noexcept = default;
  stop_state(const stop_state&) = delete;
  stop_state& operator=(const stop_state&) = delete;

  [[nodiscard]] bool requested() const noexcept { return requested_.load(memory_order_acquire); } /*R1*/
  [[nodiscard]] bool possible() const noexcept {
    return requested() || sources_.load(memory_order_relaxed) != 0; /*R3*/
  }

  /// Runs the listeners, oldest first. False: somebody else did or does.
  bool request() noexcept;
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
  void run_next() noexcept;

  // requested_ changes once, under the mutex, so that a listener is either added before the requester looks
  // at the list or told that it came too late.
  //   [R1] load                    acquire  sees what the requester did before   pairs with R2
  //   [R2] false -> true           release  publishes it                         pairs with R1
  //   [R3] sources, any access     relaxed  a hint: a count that reaches 0 stays there
  //   [R4] references, one more    relaxed  whoever adds has one already, or R5 has not happened
  //   [R5] references, one less    acq_rel  the last one sees what the others did, then deletes
  small_mutex mutex_;
  atomic<bool> requested_{false};
  atomic<std::uint32_t> references_{1};
  atomic<std::uint32_t> sources_{0};
  plain<stop_listener*> first_ = nullptr;           // mutex_
  plain<stop_listener**> end_ = &first_;            // mutex_
  plain<stop_listener*> running_ = nullptr;         // mutex_
  plain<bool*> running_gone_ = nullptr;             // mutex_
  plain<const thread_state*> requester_ = nullptr;  // mutex_
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

inline bool stop_state::request() noexcept {
  mutex_.lock();
  if (requested_.load(memory_order_relaxed)) {
    mutex_.unlock();
    return false;
  }
  requested_.store(true, memory_order_release); /*R2*/
  keep();                                       // a callback may drop the last source
  requester_ = &this_thread();
  {
    const wake_after_callbacks put_off{this_thread()};
    while (first_) run_next();
    requester_ = nullptr;
    mutex_.unlock();
  }
  drop();
  return true;
}

/// Called with the mutex held, and again when it returns; not while the listener runs.
inline void stop_state::run_next() noexcept {
  stop_listener& listener = *first_;
  first_ = listener.next;
  (first_ ? first_->link : end_) = &first_;
  listener.link = nullptr;
  bool gone = false;
  running_ = &listener;
  running_gone_ = &gone;
  mutex_.unlock();
  listener.run(listener);
  mutex_.lock();
  running_ = nullptr;
  if (!gone) listener.returned.set();
}

inline bool stop_state::add(stop_listener& listener) noexcept {
  const small_mutex_lock lock{mutex_};
  if (requested_.load(memory_order_relaxed)) return false;
  listener.link = end_;
  *end_ = &listener;
  end_ = &listener.next;
  return true;
}

inline void stop_state::remove(stop_listener& listener) noexcept {
  {
    const small_mutex_lock lock{mutex_};
    if (listener.link) {
      *listener.link = listener.next;
      (listener.next ? listener.next->link : end_) = listener.link;
      return;
    }
    if (running_ == &listener && requester_ == &this_thread()) {
      *running_gone_ = true;
      return;
    }
  }
  listener.returned.wait();
}

/// Follows a std::stop_token.
class following_state final : public stop_state {
 public:
  explicit following_state(const std::stop_token& followed) : relay_(followed, relay{this}) {}

 private:
  struct relay {
    following_state* self;
    void operator()() const noexcept {
      // While it runs it holds a reference, so no other thread waits for it inside the destructor.
      if (!self->keep_unless_dropped()) return;
      self->request();
      self->drop();
    }
  };
  std::stop_callback<relay> relay_;
};
}  // namespace detail

/// Tells whether stop was requested. Any number of them see one stop_source.
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
      : state_(other.stop_possible() ? new detail::following_state(other) : nullptr) {
    if (state_) state_->add_source();
  }
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
  /// False: stop was not requested and nobody is left who could.
  [[nodiscard]] bool stop_possible() const noexcept { return state_ && state_->possible(); }

  friend bool operator==(const stop_token&, const stop_token&) = default;

 private:
  friend class stop_source;
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
  stop_source() : state_(new detail::stop_state) { state_->add_source(); }
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
  /// True: this was the first request. Then all callbacks have returned when this does.
  bool request_stop() noexcept { return state_ && state_->request(); }
  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }

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
}  // namespace coracle
