// coracle/core/task.hpp -- the lazy coroutine that everything else is built around.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/detail/allocated_promise.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace coracle {
template <class T = void>
class CORACLE_IN_A_REGISTER() task;

namespace detail {
/// In the address of a task's parent.
struct task_marks {
  static constexpr std::uintptr_t has_failed = 1, has_returned = 2;
  /// The address is that of the awaited_task instead.
  static constexpr std::uintptr_t vanishes = 4;
  static constexpr std::uintptr_t all = has_failed | has_returned | vanishes;
};
/// Whether a body that the compiler sees where it is awaited may leave its result in the awaiter and destroy itself: then
/// the frame, which nothing has to outlive, is folded away. Not for a result that could refer to a parameter, which lives on
/// until the end of the whole expression otherwise.
template <class T>
inline constexpr bool may_vanish =
    CORACLE_FOLDS_BODIES() && (std::is_void_v<T> || std::is_arithmetic_v<T> || std::is_enum_v<T>);
/// What a task keeps of its own in two words, and its result, if that is larger than a word.
template <class T>
class task_state : public continues_parent_as<environment_with_result<T>, task_marks::all> {
  using base = continues_parent_as<environment_with_result<T>, task_marks::all>;
  static constexpr bool returns_over_environment = fits_into_word<T> && !std::is_void_v<T>;

 public:
  [[nodiscard]] const environment* get_environment() const noexcept {
    CORACLE_CHECK(
        !returns_over_environment || !this->is(task_marks::has_returned),
        "a task went on after `co_return value`: it caught what the destructor of a local threw then");
    return base::get_environment();
  }

 protected:
  [[nodiscard]] auto& result() noexcept {
    if constexpr (CORACLE_CHECKS()) this->set(task_marks::has_returned);
    return base::result();
  }
};
template <class T>
class new_task;
template <class T>
class awaited_task;
template <class T>
struct task_promise : returns_into<T, task_state<T>>,
                      part::starts_lazily,
                      part::awaits_anything,
                      recycled_frames {
  static_assert(std::is_void_v<T> || std::is_move_constructible_v<T>,
                "the result is moved out of a task: return a std::unique_ptr to a type that cannot be moved");

  task_promise() noexcept = default;
  task_promise(const task_promise&) = delete;
  task_promise& operator=(const task_promise&) = delete;
  ~task_promise() {
    if constexpr (!drops_error_before) drop_untaken_error();
  }
  // g++ joins the stores of constants that it makes into a new frame, unless there is a store through another pointer
  // between them, as of the task for the caller: so that one comes last.
  using returned = std::conditional_t<CORACLE_GCC(), new_task<T>, task<T>>;
  returned get_return_object() noexcept;
  [[nodiscard]] bool has_error() const noexcept { return this->is(task_marks::has_failed); }
  [[nodiscard]] bool lacks_result() const noexcept {
    return !std::is_void_v<T> && !this->is(task_marks::has_returned) && !has_error();
  }
  /// An error that nobody has taken is dropped before the frame is destroyed. With g++: its body would save a register for
  /// that call each time it is resumed. With clang the destructor of a task is larger then, and a when_all slower.
  static constexpr bool drops_error_before = CORACLE_GCC();
  void drop_untaken_error() noexcept {
    // One that has not ended may have no parent yet, and has no error.
    if (!std::coroutine_handle<task_promise>::from_promise(*this).done()) [[unlikely]]
      return;
    if (has_error()) [[unlikely]]
      this->drop_error();
  }
  CORACLE_ALWAYS_INLINE() T take() {
    if (has_error()) [[unlikely]]
      rethrow_error_of(std::coroutine_handle<task_promise>::from_promise(*this).address());
    return std::move(this->kept_result()).get();
  }
  [[nodiscard]] std::coroutine_handle<> parent() const noexcept {
    if constexpr (may_vanish<T>) {
      if (this->is(task_marks::vanishes)) [[unlikely]]
        return owner().parent();
    }
    return task_state<T>::parent();
  }
  /// Requires: set_parent() was called just before.
  void vanish_into(awaited_task<T>& owner) noexcept {
    this->set_marked(__builtin_addressof(owner), task_marks::vanishes);
  }
  CORACLE_COLD() void unhandled_exception() noexcept {
    this->keep_error();
    shared_promise::tell(this->parent(), std::coroutine_handle<task_promise>::from_promise(*this).address());
    this->set(task_marks::has_failed);
  }

  struct final_awaiter {
    constexpr final_awaiter() noexcept {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    CORACLE_TRANSFER_ABI()
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      task_promise& promise = self.promise();
      if constexpr (may_vanish<T>) {
        const bool vanishes = promise.is(task_marks::vanishes);
        if (__builtin_constant_p(vanishes) && vanishes) return transfer_to(promise.vanish());
        if (vanishes) [[unlikely]]
          return transfer_to(promise.owner().parent());  // not folded: the owner destroys it
      }
      return transfer_to(promise.task_state<T>::parent());
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend(body_end end = body_end::here()) const noexcept {
    end.require_result(*this);
    return {};
  }

 private:
  /// Gives the parent.
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> vanish() noexcept {
    const std::coroutine_handle<> parent = owner().parent();
    if (has_error()) [[unlikely]]
      return parent;
    owner().take_over(this->kept_result());
    std::coroutine_handle<task_promise>::from_promise(*this).destroy();
    return parent;
  }
  [[nodiscard]] awaited_task<T>& owner() const noexcept {
    return *static_cast<awaited_task<T>*>(task_state<T>::parent().address());
  }
  // Takes what the caller has in a register.
  [[noreturn]] CORACLE_COLD() static void rethrow_error_of(void* frame) {
    std::coroutine_handle<task_promise>::from_address(frame).promise().rethrow_error();
  }
};
/// Becomes the task that a coroutine returns, after all else is done.
template <class T>
class new_task {
 public:
  explicit new_task(std::coroutine_handle<task_promise<T>> body) noexcept : body_(body) {}
  operator task<T>() const noexcept { return task<T>{body_}; }

 private:
  std::coroutine_handle<task_promise<T>> body_;
};
/// Two tasks that stand side by side and are moved together, as a when_all does just after they were made, would be read
/// by one load, which has to wait until both stores of the one before are done: so the compiler is not to see two.
template <class Promise>
CORACLE_ALWAYS_INLINE()
std::coroutine_handle<Promise> moved_alone(std::coroutine_handle<Promise> body) noexcept {
  void* address = body.address();
  CORACLE_HIDES_ORIGIN(address);
  return std::coroutine_handle<Promise>::from_address(address);
}
inline constexpr char awaited_empty[] =
    "an empty task was awaited: it was awaited before, moved from, or never held a coroutine";
inline constexpr char awaited_twice[] =
    "a task was awaited twice: its result has been moved out; a shared_task keeps it";
template <class T>
class task_awaiter_base {
 public:
  explicit task_awaiter_base(std::coroutine_handle<task_promise<T>> body) noexcept : body_(body) {}
  bool await_ready() const noexcept { return body_.done(); }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    const auto body = body_;  // read once: the compiler cannot know that set_parent() leaves this alone
    body.promise().set_parent(parent);
    return transfer_to(body);
  }

 protected:
  /// Only a body that was started says how it ended.
  [[nodiscard]] bool failed() const noexcept { return body_.done() && body_.promise().has_error(); }

  std::coroutine_handle<task_promise<T>> body_;
};
template <class T>
class task_awaiter : public task_awaiter_base<T> {
 public:
  using task_awaiter_base<T>::task_awaiter_base;
  bool await_ready() const noexcept {
    const bool is_over = this->body_.done();
    CORACLE_CHECK(!is_over || this->body_.promise().parent(), awaited_twice);
    return is_over;
  }
  // For sync_wait(), which asks in every build.
  void require_body() const noexcept { CORACLE_REQUIRE(this->body_, awaited_empty); }
  void require_result() const noexcept { CORACLE_REQUIRE(this->body_.promise().parent(), awaited_twice); }
  void mark_taken() const noexcept { this->body_.promise().forget_parent(); }
  CORACLE_ALWAYS_INLINE() T await_resume() {
    if constexpr (CORACLE_CHECKS()) mark_taken();
    return this->body_.promise().take();
  }
};
inline constinit char no_code = 0;  // no frame begins with its address
/// Owns what it awaits: nothing refers to the task that it was taken from.
template <class T>
class awaited_task : public task_awaiter<T> {
 public:
  CORACLE_ALWAYS_INLINE()
  explicit awaited_task(std::coroutine_handle<task_promise<T>> body) noexcept : task_awaiter<T>(body) {}
  awaited_task(const awaited_task&) = delete;
  awaited_task& operator=(const awaited_task&) = delete;
  CORACLE_ALWAYS_INLINE() ~awaited_task() {
    if constexpr (may_vanish<T>) {
      if (!this->body_) return;
    }
    if constexpr (task_promise<T>::drops_error_before) this->body_.promise().drop_untaken_error();
    this->body_.destroy();
  }

  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_ALWAYS_INLINE() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> parent) noexcept {
    const auto body = this->body_;
    body.promise().set_parent(parent);
    if constexpr (may_vanish<T>) {
      // What the frame begins with: known where the call that made it was folded into the parent (ADR 22).
      void* const code = *static_cast<void**>(body.address());
      if (__builtin_constant_p(code == &no_code)) {
        slot_.parent = parent.address();
        body.promise().vanish_into(*this);
      }
    }
    return transfer_to(body);
  }
  CORACLE_ALWAYS_INLINE() T await_resume() {
    if constexpr (may_vanish<T>) {
      if (!this->body_) return std::move(slot_.result).get();
    }
    return task_awaiter<T>::await_resume();
  }

 private:
  friend task_promise<T>;
  [[nodiscard]] std::coroutine_handle<> parent() const noexcept {
    return std::coroutine_handle<>::from_address(slot_.parent);
  }
  /// The body is about to destroy itself.
  CORACLE_ALWAYS_INLINE() void take_over([[maybe_unused]] value_only<T>& result) noexcept {
    auto* const taken = ::new (static_cast<void*>(&slot_.result)) value_only<T>;
    if constexpr (!std::is_void_v<T>) taken->emplace(std::move(result).get());
    this->body_ = nullptr;
  }
  /// Written for a body that vanishes, then by that.
  union slot {
    slot() noexcept {}
    ~slot() {}
    void* parent;
    value_only<T> result;
  };
  struct no_slot {};
  [[no_unique_address]] std::conditional_t<may_vanish<T>, slot, no_slot> slot_;
};
template <class T>
class task_ready_awaiter : public task_awaiter_base<T> {
 public:
  using task_awaiter_base<T>::task_awaiter_base;
  void await_resume() const noexcept {}
};
}  // namespace detail

template <class T>
class forked;

/// A coroutine that starts when it is awaited and continues its awaiter when it ends.
///
///     coracle::task<int> answer() { co_return 42; }
///     coracle::task<> print() { std::printf("%d\n", co_await answer()); }
///
/// Order         the body runs inside the `co_await`, the awaiter's next line right after it.
/// Resumes on    the thread that finished the body: a transfer, without a scheduler, a lock or an atomic.
/// Cancellation  inherits its awaiter's environment, and so its stop token.
/// Exceptions    one that leaves the body is thrown from the `co_await`. What the destructor of a local throws after
///               `co_return value` may not be caught in the body by one that then awaits again.
/// Threads       one at a time; it may be moved between threads before it is awaited. While it is awaited it may be moved,
///               as by a vector that grows, but not destroyed.
/// Parameters    those of the body are destroyed with its frame: at the end of the whole expression that has the `co_await`,
///               or before, where clang folds a body that gives a number or nothing into the awaiter (docs/adr/0022).
/// Cost          one frame from the recycler (none where it is folded away), constant stack.
template <class T>
class [[nodiscard(
    "a task that is not awaited does nothing: co_await it, or pass it to sync_wait or "
    "when_all")]] CORACLE_CORO_RETURN_TYPE() CORACLE_IN_A_REGISTER() task : detail::task_awaiter<T> {
  using awaiter = detail::task_awaiter<T>;
  using awaiter::body_;

 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept : awaiter(nullptr) {}
  CORACLE_CORO_WRAPPER() explicit task(std::coroutine_handle<promise_type> body) noexcept : awaiter(body) {}
  task(task&& other) noexcept : awaiter(detail::moved_alone(std::exchange(other.body_, nullptr))) {}
  task& operator=(task&& other) noexcept {
    task(std::move(other)).swap(*this);
    return *this;
  }
  /// Destroys the body where it stands, and with it all that it awaits. Requires: it is not running, and
  /// nobody is about to resume it. Suspended bodies that await one another are destroyed recursively, each on 16 to 130
  /// bytes of stack with -O2, by how much it holds, up to 1,200 with -O0 or a sanitizer, and up to 2,700 with those of
  /// g++ and -O1 to -O3: of 8 MiB, 3,000 fit in every build and 60,000 with -O2. A longer chain is to be brought to its
  /// end, by a stop request.
  /// Bodies that have ended take no stack.
  CORACLE_ALWAYS_INLINE() ~task() {
    if (!body_) return;
    if constexpr (promise_type::drops_error_before) body_.promise().drop_untaken_error();
    body_.destroy();
  }

  void swap(task& other) noexcept { std::swap(body_, other.body_); }
  /// Returns false if moved from or default constructed. Once it has been awaited, either: clang takes the body out, g++ leaves it until
  /// the task goes.
  [[nodiscard]] explicit operator bool() const& noexcept { return static_cast<bool>(body_); }
  /// Refused: whoever asks this of a call has forgotten to await what it returns.
  template <class Nothing = void>
  explicit operator bool() const&& noexcept {
    static_assert(!std::is_void_v<Nothing>,
                  "a task is no condition: co_await the call, which gives its result");
    return false;
  }
  /// Returns true if the body has ended, or there is none.
  [[nodiscard]] bool is_ready() const noexcept { return !body_ || body_.done(); }

  /// Runs the body and gives its result, moved out. Requires: not empty, and not awaited so before.
  awaiter operator co_await() && noexcept {
    require_body();
    return *this;
  }
  CORACLE_ALWAYS_INLINE() detail::awaited_task<T> owning_awaiter() && noexcept {
    require_body();
    return detail::awaited_task<T>{std::exchange(body_, nullptr)};
  }
  /// An awaitable that runs the body and gives nothing, not even its exception: the result stays in the
  /// task for a later `co_await std::move(task)`.
  [[nodiscard]] detail::task_ready_awaiter<T> when_ready() const noexcept {
    require_body();
    return detail::task_ready_awaiter<T>{body_};
  }

 private:
#if CORACLE_CHECKS()
  friend class forked<T>;
  /// It was awaited, in some way, and has failed, and nobody has taken its result.
  [[nodiscard]] bool keeps_an_error() const noexcept {
    return body_ && body_.done() && body_.promise().parent() && body_.promise().has_error();
  }
#endif
  void require_body() const noexcept { CORACLE_CHECK(body_, detail::awaited_empty); }
};

namespace detail {
template <class T>
CORACLE_CORO_WRAPPER()
inline typename task_promise<T>::returned task_promise<T>::get_return_object() noexcept {
  return returned{std::coroutine_handle<task_promise>::from_promise(*this)};
}
}  // namespace detail

/// Any awaitable as a task: for a container, or to give a name to its type. The awaitable is moved in.
template <awaitable Awaitable>
task<await_result_t<Awaitable>> make_task(Awaitable value) {
  co_return co_await static_cast<Awaitable&&>(value);
}
}  // namespace coracle

/// A coroutine with `std::allocator_arg_t, allocator` as its first parameters (after the object, for a member
/// function or a lambda) takes its frame from a copy of that allocator.
template <class T, class Allocator, class... Args>
struct std::coroutine_traits<coracle::task<T>, std::allocator_arg_t, Allocator, Args...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::task_promise<T>, std::remove_cvref_t<Allocator>>;
};
template <class T, class This, class Allocator, class... Args>
struct std::coroutine_traits<coracle::task<T>, This, std::allocator_arg_t, Allocator, Args...> {
  using promise_type =
      coracle::detail::allocated_promise<coracle::detail::task_promise<T>, std::remove_cvref_t<Allocator>>;
};
