// coracle/core/shared_task.hpp -- a lazy coroutine whose result several coroutines may await.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/atomic.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/broken_promise.hpp>
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace coracle {
template <class T = void>
class shared_task;

namespace detail {
/// Synchronises the handles, the awaiters and the end of a shared coroutine.
class shared_end {
 public:
  enum class arrival { starts, waits, goes_on };

  /// If it returns true, what the body wrote is visible to the caller.
  [[nodiscard]] bool has_ended() const noexcept { return state_.load(memory_order_acquire) == ended; } /*S1*/
  /// Returns what the coroutine behind `self` does now: it runs the body, which has not been started; or it
  /// waits, and is woken at the end of the body; or it goes on, since the body has ended or stop was
  /// requested. If it waits, `self` may be gone.
  arrival enqueue(queued_waiter& self) noexcept;
  bool withdraw(queued_waiter& waiting) noexcept;

  void add_handle() noexcept { handles_.fetch_add(1, memory_order_relaxed); } /*H3*/
  /// If it returns true, this was the last handle: what the others did is visible to the caller, which must
  /// free the frame.
  [[nodiscard]] bool drop_handle() noexcept {
    // The only handle cannot be copied while it is dropped, so a load suffices for it.
    return handles_.load(memory_order_acquire) == 1 ||       /*H1*/
           handles_.fetch_sub(1, memory_order_acq_rel) == 1; /*H2*/
  }
  /// Destroys the frame, at once or after the frames in whose destruction this is called, so a chain of any
  /// length takes a bounded stack. Requires: no handle is left.
  void destroy_frame() noexcept;

 protected:
  /// Wakes the waiters. Returns the one to continue at once; null if there is none. The body's own handle
  /// still keeps the frame alive.
  std::coroutine_handle<> end() noexcept;

 private:
  /// Every promise begins with this class, so its distance from the frame is the same for each.
  [[nodiscard]] std::coroutine_handle<> frame() noexcept {
    return std::coroutine_handle<shared_end>::from_promise(*this);
  }
  CORACLE_COLD() void destroy_later(shared_destructions& thread) noexcept;
  CORACLE_COLD() static void destroy_those_put_off(shared_destructions& thread) noexcept;

  // The result belongs to the body until it has ended, then to every coroutine that has seen the end.
  //   [S1] load    acquire  see what the body wrote     pairs with B2 of the end
  static constexpr std::uint32_t unstarted = 0, running = 2, ended = 4;
  locked_word<std::uint32_t> state_{unstarted};
  wait_queue waiters_;
  // The number of handles; in a frame queued for destruction, which has none, the next frame of that queue.
  using count_or_next = tagged_pointer<shared_end, no_tag>;
  // The thread that drops the last handle frees the frame. The body holds a handle of its own while it runs.
  //   [H1] load                      acquire  see what the others did before they dropped  pairs with H2
  //   [H2] drop one                  acq_rel  publish what this one did, see the others'   pairs with H1, H2
  //   [H3] one more                  relaxed  the caller has a handle already
  //   [H4] the next to be destroyed  relaxed  no handle is left: only the destroying thread uses this
  atomic<std::uintptr_t> handles_{1};
};

template <class T>
struct shared_task_promise : shared_end,
                             part::starts_lazily,
                             part::returns<T>,
                             part::awaits_anything,
                             recycled_frames {
  shared_task<T> get_return_object() noexcept;
  ends_by<shared_task_promise> final_suspend(body_end end = body_end::here()) const noexcept {
    return ends_by<shared_task_promise>(end);
  }
  /// Returns the result in place, or throws the stored exception. Requires: has_ended(), seen by the caller.
  std::add_lvalue_reference_t<T> look() {
    if constexpr (std::is_void_v<T>) {
      this->take();
    } else {
      return this->result_.get();
    }
  }

 private:
  friend ends_by<shared_task_promise>;
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> end() noexcept {
    const std::coroutine_handle<> next = shared_end::end();
    if (this->drop_handle()) this->destroy_frame();
    return next ? transfer_to(next) : std::noop_coroutine();
  }
};
}  // namespace detail

/// A coroutine that starts when it is first awaited, and whose result any number of coroutines may await.
///
///     coracle::shared_task<std::string> page = fetch(url);
///     co_await coracle::when_all(print_title(page), count_words(page));  // one fetch; each holds a copy
///
/// A copy is another handle to the same coroutine. `co_await` returns a reference to the result, which lives
/// as long as any handle does. An adaptor such as timeout() also returns that reference, and drops the handle
/// that was moved into it: pass a copy, `co_await timeout(page, 1s)`, and keep `page`. Awaiting an empty
/// handle throws broken_promise. Prefer task where one coroutine awaits the result: it needs no atomic, and
/// moves the result out.
/// Order         the body runs inside the first `co_await`; awaiters are woken first come, first served.
/// Resumes on    the executor on which the awaiter suspended, the first awaiter's too; outside any executor,
///               the thread that ended the body. An await after the end continues at once.
/// Cancellation  a stop request to an awaiter ends its wait; the body, which belongs to all awaiters, goes
///               on: it inherits no environment but starts with an empty one. An awaiter that was stopped
///               before does not start the body.
/// Exceptions    one that leaves the body is thrown from each `co_await`, the same object from all of them;
///               operation_cancelled.
/// Threads       handles of one coroutine may be copied, awaited and dropped on any threads at once; a single
///               handle has the thread safety of a pointer.
/// Cost          one frame from the recycler; an atomic operation to start, to wait, and to end; one more to
///               copy a handle, and to drop a handle that is not the last.
template <class T>
class [[nodiscard(
    "a shared_task that is not awaited does nothing: co_await it, or keep it")]] CORACLE_CORO_RETURN_TYPE()
    shared_task {
  class awaiter_base;
  class awaiter;
  class ready_awaiter;

 public:
  using promise_type = detail::shared_task_promise<T>;
  using value_type = T;

  shared_task() noexcept = default;
  /// Takes over one handle.
  CORACLE_CORO_WRAPPER()
  explicit shared_task(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  shared_task(const shared_task& other) noexcept : body_(other.body_) {
    if (body_) body_.promise().add_handle();
  }
  shared_task(shared_task&& other) noexcept : body_(detail::exchange(other.body_, nullptr)) {}
  shared_task& operator=(shared_task other) noexcept {
    swap(other);
    return *this;
  }
  /// The last handle destroys the body, unless it has started and not ended: then the body goes on, and is
  /// destroyed at its end. Bodies that hold the last handle of one another are destroyed on a bounded stack:
  /// those nested deeper than 16 after the others.
  ~shared_task() {
    if (body_ && body_.promise().drop_handle()) body_.promise().destroy_frame();
  }

  void swap(shared_task& other) noexcept { detail::swap_values(body_, other.body_); }
  friend void swap(shared_task& a, shared_task& b) noexcept { a.swap(b); }
  /// Returns true if both are handles to the same coroutine, or both are empty.
  friend bool operator==(const shared_task& a, const shared_task& b) noexcept { return a.body_ == b.body_; }
  /// Returns false if moved from or default constructed.
  [[nodiscard]] explicit operator bool() const& noexcept { return static_cast<bool>(body_); }
  /// Rejected at compile time: a condition on the call itself means that the returned task was not awaited.
  template <class Nothing = void>
  explicit operator bool() const&& noexcept {
    static_assert(!std::is_void_v<Nothing>,
                  "a shared_task is not a condition: co_await the call, which gives its result");
    return false;
  }
  /// Returns true if the body has ended or there is none; an await would then not suspend.
  [[nodiscard]] bool is_ready() const noexcept { return !body_ || body_.promise().has_ended(); }

  /// Awaitable of `T&`, or of nothing if `T` is void.
  awaiter operator co_await() const noexcept { return awaiter{body_}; }
  /// Returns an awaitable that waits for the end of the body and returns nothing, not even its exception.
  [[nodiscard("when_ready() does nothing until it is awaited")]] ready_awaiter when_ready() const noexcept {
    return ready_awaiter{body_};
  }

 private:
  std::coroutine_handle<promise_type> body_;
};

template <class T>
class shared_task<T>::awaiter_base : public detail::stoppable_wait<awaiter_base> {
  using wait_type = detail::stoppable_wait<awaiter_base>;

 public:
  explicit awaiter_base(std::coroutine_handle<promise_type> body) noexcept : body_(body) {}
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    return start_or_wait<detail::ends_stopped<Promise>>(suspended, detail::environment_of(suspended));
  }

 protected:
  using arrival = detail::shared_end::arrival;
  std::coroutine_handle<promise_type> body_;

 private:
  friend wait_type;
  /// `Ends`: the coroutine is a task, which may be ended where it waits.
  template <bool Ends>
  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE() std::coroutine_handle<> start_or_wait(std::coroutine_handle<> suspended,
                                                           const environment* inherited) noexcept {
    if (inherited && inherited->stop.stop_requested()) [[unlikely]] {
      return this->template refuse<Ends>(suspended, *inherited) ? std::noop_coroutine()
                                                                : transfer_to(suspended);
    }
    if (try_now()) {
      const bool gives_way =
          detail::has_to_give_way() && this->template start_after_others<Ends>(suspended, inherited);
      return gives_way ? std::noop_coroutine() : transfer_to(suspended);
    }
    // The result of enqueue() is stored in a local: this object may be gone when wait() returns.
    const auto body = body_;
    arrival found = arrival::goes_on;
    found_ = &found;
    const bool waits = this->template wait<Ends>(suspended, inherited);
    if (found == arrival::starts) return coracle::transfer_to(body);
    return waits ? std::noop_coroutine() : transfer_to(suspended);
  }
  bool try_now() const noexcept { return !body_ || body_.promise().has_ended(); }
  bool enqueue() noexcept {
    arrival& found = *found_;
    found = body_.promise().enqueue(this->node());
    return found != arrival::goes_on;
  }
  bool withdraw() noexcept { return body_.promise().withdraw(this->node()); }

  arrival* found_ = nullptr;
};
template <class T>
class [[nodiscard]] shared_task<T>::awaiter : public awaiter_base {
 public:
  using awaiter_base::awaiter_base;
  std::add_lvalue_reference_t<T> await_resume() {
    this->finish();
    if (!this->body_) [[unlikely]]
      detail::throw_broken_promise();
    return this->body_.promise().look();
  }
};
template <class T>
class [[nodiscard]] shared_task<T>::ready_awaiter : public awaiter_base {
 public:
  using awaiter_base::awaiter_base;
  void await_resume() { this->finish(); }
};

namespace detail {
template <class T>
CORACLE_CORO_WRAPPER()
inline shared_task<T> shared_task_promise<T>::get_return_object() noexcept {
  return shared_task<T>{std::coroutine_handle<shared_task_promise>::from_promise(*this)};
}
}  // namespace detail

/// Turns any awaitable into a shared_task, which awaits it once and shares its result. The awaitable is moved
/// in.
template <awaitable Awaitable>
shared_task<detail::kept_result_t<Awaitable>> make_shared_task(Awaitable value) {
  co_return co_await static_cast<Awaitable&&>(value);
}
}  // namespace coracle

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator.
template <class T, class... Params>
  requires requires { typename coracle::detail::given_allocator<Params...>::type; }
struct std::coroutine_traits<coracle::shared_task<T>, Params...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::shared_task_promise<T>,
                                         typename coracle::detail::given_allocator<Params...>::type>;
};
