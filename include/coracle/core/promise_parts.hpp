// coracle/core/promise_parts.hpp -- the parts that coroutine types are made of: ours, and yours.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/result.hpp>
#include <cstdint>

namespace coracle {
class environment;

namespace detail {
/// Final suspension that continues what `Part::end()` gives, after which the frame may be gone.
template <class Part>
class ends_by {
 public:
  constexpr explicit ends_by(body_end end) noexcept : end_(end) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  CORACLE_NOINLINE_SUSPEND() std::coroutine_handle<> await_suspend(
      std::coroutine_handle<Promise> self) noexcept {
    end_.require_result(self.promise());
    return static_cast<Part&>(self.promise()).end();
  }
  void await_resume() const noexcept {}

 private:
  [[no_unique_address]] body_end end_;
};
}  // namespace detail

/// A promise type is put together from one part of each kind, as base classes; what is left to write is
/// `get_return_object`. A part that holds nothing takes no space, and none costs an instruction that the
/// coroutine does not need.
///
///     struct promise_type : part::starts_lazily, part::returns<int>, part::continues_parent,
///                           part::awaits_anything, recycled_frames {
///       my_task get_return_object() noexcept;
///     };
namespace part {

// ---- start ---------------------------------------------------------------------------------------------

/// The body runs when the coroutine is first resumed.
struct starts_lazily {
  std::suspend_always initial_suspend() const noexcept { return {}; }
};
/// The body runs at once, inside the call.
struct starts_eagerly {
  /// Where some unit of the program makes no tail calls the body runs in a drain loop of its own: in the
  /// caller's, what the body transfers to would wait until the caller suspends.
  struct start_now {
    constexpr start_now() noexcept {}
    bool await_ready() const noexcept { return !CORACLE_MIXED_TRANSFER(); }
    void await_suspend(std::coroutine_handle<> self) const { resume(self); }
    void await_resume() const noexcept {}
  };
  start_now initial_suspend() const noexcept { return {}; }
};

// ---- result and error ----------------------------------------------------------------------------------

struct stores_errors {};  ///< an exception is kept and thrown again from take()
/// An exception leaves through whoever resumed the coroutine. For coroutines that have not suspended before: of others clang
/// (19 and 22, from -O1 on) destroys what lived at the last suspension once more with the frame.
struct rethrows_errors {};
struct terminates_on_error {};  ///< an exception ends the program

}  // namespace part

namespace detail {
/// A value without room for an error; not even a flag where `T` needs no destructor.
template <class T>
class value_only {
  using stored = stored_t<T>;
  static constexpr bool tracked = !std::is_trivially_destructible_v<stored>;

 public:
  value_only() noexcept {}
  value_only(const value_only&) = delete;
  value_only& operator=(const value_only&) = delete;
  ~value_only() {
    if constexpr (tracked) {
      if (has_value_.set) value_.~stored();
    }
  }
  [[nodiscard]] bool has_value() const noexcept
    requires tracked
  {
    return has_value_.set;
  }
  /// Requires: empty.
  template <class... Args>
  void emplace(Args&&... args) noexcept(std::is_nothrow_constructible_v<stored, Args...>) {
    if constexpr (std::is_reference_v<T>) {
      T bound(static_cast<Args&&>(args)...);
      ::new (static_cast<void*>(__builtin_addressof(value_))) stored(__builtin_addressof(bound));
    } else {
      ::new (static_cast<void*>(__builtin_addressof(value_))) stored(static_cast<Args&&>(args)...);
    }
    if constexpr (tracked) has_value_.set = true;
  }
  T get() && {
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else {
      return std::move(value_);
    }
  }

 private:
  struct flag {
    bool set = false;
  };
  union {
    stored value_;
  };
  [[no_unique_address]] std::conditional_t<tracked, flag, nothing> has_value_;
};
template <>
class value_only<void> {
 public:
  void emplace() noexcept {}
  void get() && {}
};

/// Whether an lvalue reference `T` that is made of a `U` refers to a temporary: only that binds to an rvalue reference,
/// too. False for an object of another class, which may convert to a reference, as a std::reference_wrapper does.
template <class T, class U>
inline constexpr bool refers_to_temporary =
    std::is_lvalue_reference_v<T> && std::is_constructible_v<std::remove_reference_t<T>&&, U> &&
    (!std::is_class_v<std::remove_reference_t<U>> ||
     std::is_base_of_v<std::remove_cvref_t<T>, std::remove_cvref_t<U>>);

template <class T>
inline constexpr bool fits_into_frame = alignof(stored_t<T>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// Room for an error only, in one pointer: what a coroutine that returns nothing has to keep.
class error_only {
 public:
  error_only() noexcept : error_(nullptr) {}
  error_only(const error_only&) = delete;
  error_only& operator=(const error_only&) = delete;
  ~error_only() {
    if (error_) [[unlikely]]
      drop();
  }
  void emplace() noexcept {}
  CORACLE_COLD() void emplace_current_exception() noexcept { error_ = std::current_exception(); }
  [[nodiscard]] bool has_error() const noexcept { return static_cast<bool>(error_); }
  CORACLE_ALWAYS_INLINE() void get() && {
    if (error_) [[unlikely]]
      rethrow(error_);
  }

 private:
  CORACLE_COLD() void drop() noexcept { error_.~exception_ptr(); }
  union {
    std::exception_ptr error_;
  };
};

template <class T, class Errors>
struct result_of_coroutine {
  using storage = std::conditional_t<!std::is_same_v<Errors, part::stores_errors>, value_only<T>,
                                     std::conditional_t<std::is_void_v<T>, error_only, outcome<T>>>;

  void unhandled_exception() noexcept(!std::is_same_v<Errors, part::rethrows_errors>) {
    if constexpr (std::is_same_v<Errors, part::stores_errors>) {
      result_.emplace_current_exception();
    } else if constexpr (std::is_same_v<Errors, part::rethrows_errors>) {
#if CORACLE_EXCEPTIONS()
      throw;
#endif
    } else {
      std::terminate();
    }
  }
  /// The result, moved out; throws a stored exception. Requires: the coroutine has finished.
  T take() { return std::move(result_).get(); }
  /// take() would throw. Requires: it has finished, and stores errors.
  [[nodiscard]] bool has_error() const noexcept { return result_.has_error(); }
  /// The body has ended neither by `co_return` nor by an exception. Known of storage that tells whether it is empty.
  [[nodiscard]] bool lacks_result() const noexcept
    requires(requires(const storage& kept) { kept.has_value(); })
  {
    if constexpr (std::is_same_v<Errors, part::stores_errors>) {
      return result_.is_empty();
    } else {
      return !result_.has_value();
    }
  }

 protected:
  [[nodiscard]] storage& result() noexcept { return result_; }
  [[no_unique_address]] storage result_;
};

/// A result that can take the place of an environment.
template <class T>
inline constexpr bool fits_into_word =
    sizeof(stored_t<T>) <= sizeof(void*) && std::is_trivially_destructible_v<stored_t<T>> &&
    std::is_nothrow_move_constructible_v<stored_t<T>>;

/// `co_return value;` for a `Result` that keeps a `T` in its `result()`.
template <class T, class Result>
struct returns_into : Result {
  template <class U = T>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>) {
    constexpr bool fits = std::is_constructible_v<T, U>, lasts = !fits || !refers_to_temporary<T, U>;
    static_assert(
        fits_into_frame<T>,
        "g++ 12 misaligns over-aligned objects in coroutine frames: return a std::unique_ptr to this type");
    static_assert(fits, "co_return: what this coroutine returns cannot be made of this value");
    static_assert(
        lasts,
        "co_return: this coroutine returns a reference, and this is a temporary, which ends here: return a "
        "value, or refer to what lives on");
    if constexpr (fits && lasts && (!fits_into_word<T> || std::is_nothrow_constructible_v<T, U>)) {
      auto& result = this->result();
      if constexpr (!std::is_trivially_destructible_v<stored_t<T>>) {
        // Of a `co_return` before this one, behind which the destructor of a local threw, and the body caught that.
        if (result.has_value()) [[unlikely]]
          renew(result);
      }
      result.emplace(static_cast<U&&>(value));
    } else if constexpr (fits && lasts) {
      // Where this throws, a handler around the co_return may go on, and needs what a result takes the place of.
      T made(static_cast<U&&>(value));
      this->result().emplace(static_cast<T&&>(made));
    }
  }

 private:
  template <class Storage>
  CORACLE_COLD()
  static void renew(Storage& result) noexcept {
    result.~Storage();
    ::new (static_cast<void*>(&result)) Storage;
  }
};
template <class Result>
struct returns_into<void, Result> : Result {
  void return_void() noexcept { this->result().emplace(); }
};
}  // namespace detail

namespace part {

/// `co_return value;` stores a `T` (also void or a reference), `take()` gives it out.
template <class T, class Errors = stores_errors>
struct returns : detail::returns_into<T, detail::result_of_coroutine<T, Errors>> {};

// ---- final suspension and continuation -----------------------------------------------------------------
}  // namespace part

namespace detail {
/// The environment that a coroutine inherits. Not read before it is set.
class inherited_environment {
 public:
  inherited_environment() noexcept {}
  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }
  void set_environment(const environment* inherited) noexcept { environment_ = inherited; }

 private:
  const environment* environment_;
};

/// One word: the environment and, once the coroutine has ended, which then needs none, its error or its `Result`, if that
/// is small enough.
template <class Result>
class environment_or {
 public:
  // Not read before it is set.
  environment_or() noexcept {}
  environment_or(const environment_or&) = delete;
  environment_or& operator=(const environment_or&) = delete;
  ~environment_or() {}

  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }
  void set_environment(const environment* inherited) noexcept { environment_ = inherited; }

 protected:
  /// A place for it, which the environment leaves.
  [[nodiscard]] Result& result() noexcept { return *::new (static_cast<void*>(&result_)) Result; }
  [[nodiscard]] Result& kept_result() noexcept { return result_; }
  /// Keeps the exception that is being handled.
  CORACLE_COLD() void keep_error() noexcept {
    ::new (static_cast<void*>(&error_)) std::exception_ptr(std::current_exception());
  }
  [[noreturn]] void rethrow_error() const {
    const std::exception_ptr error(error_);
    rethrow(error);
  }
  CORACLE_COLD() void drop_error() noexcept { error_.~exception_ptr(); }

 private:
  union {
    const environment* environment_;
    std::exception_ptr error_;
    Result result_;
  };
};
/// With room for a result of any size.
template <class Result>
class environment_and : public environment_or<nothing> {
 protected:
  [[nodiscard]] Result& result() noexcept { return result_; }
  [[nodiscard]] Result& kept_result() noexcept { return result_; }

 private:
  [[no_unique_address]] Result result_;
};
template <class T>
using environment_with_result =
    std::conditional_t<fits_into_word<T>, environment_or<value_only<T>>, environment_and<value_only<T>>>;

/// `Inherited` keeps the environment. `marks`: bits of the parent's address, which is even, that it keeps beside that.
template <class Inherited, std::uintptr_t marks = 0>
class continues_parent_as : public Inherited {
 public:
  // Not read before set_parent() has set it: each store of a new task is a cycle.
  continues_parent_as() noexcept {}
  /// What this coroutine continues when it ends; called by the awaiter before it starts the coroutine.
  template <class Promise>
  void set_parent(std::coroutine_handle<Promise> parent) noexcept {
    parent_ = reinterpret_cast<std::uintptr_t>(parent.address());
    if constexpr (hands_down_environment<Promise>) {
      this->set_environment(parent.promise().get_environment());
    } else {
      this->set_environment(nullptr);
    }
  }
  [[nodiscard]] std::coroutine_handle<> parent() const noexcept {
    return std::coroutine_handle<>::from_address(reinterpret_cast<void*>(parent_ & ~marks));
  }
  /// From here on parent() is null.
  void forget_parent() noexcept { parent_ &= marks; }

  class final_awaiter {
   public:
    constexpr final_awaiter(body_end end = body_end::here()) noexcept : end_(end) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    CORACLE_TRANSFER_ABI()
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      end_.require_result(self.promise());
      return transfer_to(self.promise().parent());
    }
    void await_resume() const noexcept {}

   private:
    [[no_unique_address]] body_end end_;
  };
  final_awaiter final_suspend(body_end end = body_end::here()) const noexcept { return end; }

 protected:
  void set(std::uintptr_t mark) noexcept { parent_ |= mark; }
  /// parent() gives the address of `instead` from here on, which has the mark.
  void set_marked(void* instead, std::uintptr_t mark) noexcept {
    parent_ = reinterpret_cast<std::uintptr_t>(instead) | mark;
  }
  [[nodiscard]] bool is(std::uintptr_t mark) const noexcept { return (parent_ & mark) != 0; }

 private:
  union {
    std::uintptr_t parent_;
  };
};
}  // namespace detail

namespace part {

/// Ends by transferring to the coroutine that awaits it. No atomic: the awaiting coroutine set itself before
/// it started this one. Carries the environment that it inherited at that moment.
struct continues_parent : detail::continues_parent_as<detail::inherited_environment> {};

/// Stays suspended at its end until its owner destroys it.
struct stays_at_end {
  class final_awaiter {
   public:
    constexpr final_awaiter(detail::body_end end = detail::body_end::here()) noexcept : end_(end) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      end_.require_result(self.promise());
    }
    void await_resume() const noexcept {}

   private:
    [[no_unique_address]] detail::body_end end_;
  };
  final_awaiter final_suspend(detail::body_end end = detail::body_end::here()) const noexcept { return end; }
};

/// Frees its frame by itself at its end: nobody can ask for its result.
struct frees_itself {
  std::suspend_never final_suspend() const noexcept { return {}; }
};

// ---- await filter --------------------------------------------------------------------------------------

/// Awaits whatever is awaitable, and says in one line what is wrong with the rest.
struct awaits_anything {
  template <awaitable T>
  CORACLE_ALWAYS_INLINE()
  decltype(auto) await_transform(T&& value) const noexcept {
    return detail::awaited<T>(static_cast<T&&>(value));
  }
  template <class T>
  detail::any_awaiter await_transform(T&&) const noexcept {
    if constexpr (awaitable<std::remove_cvref_t<T>>) {
      static_assert(!detail::is_awaitable<std::remove_cvref_t<T>>,
                    "this object can be awaited only once: write co_await std::move(object), or await the "
                    "call that makes it");
    } else {
      static_assert(detail::is_awaitable<T>,
                    "co_await needs an awaitable: an object with await_ready, await_suspend and "
                    "await_resume, or with an operator co_await that returns one");
    }
    return {};
  }
};

/// Refuses every `co_await`, as a generator must.
struct awaits_nothing {
  template <class T>
  detail::any_awaiter await_transform(T&&) const noexcept {
    static_assert(!sizeof(T*),
                  "this coroutine cannot co_await: it produces its values for a caller that does not wait; "
                  "await before calling it, or use an async generator");
    return {};
  }
};

/// Awaits nothing but the types named.
template <class... Ts>
struct awaits_only {
  template <class T>
    requires(std::is_same_v<std::remove_cvref_t<T>, Ts> || ...)
  decltype(auto) await_transform(T&& value) const noexcept {
    return detail::awaited<T>(static_cast<T&&>(value));
  }
  template <class T>
  detail::any_awaiter await_transform(T&&) const noexcept {
    static_assert(!sizeof(T*),
                  "this coroutine awaits only the types that its promise names in awaits_only<...>");
    return {};
  }
};

/// Hands each awaited object to `Derived::adapt_await(object)` and awaits what that returns. Use it for an
/// await that does more, such as coming back to an executor, or to admit a type that is not awaitable.
template <class Derived>
struct adapts_awaits {
  template <class T>
  decltype(auto) await_transform(T&& value) {
    return static_cast<Derived&>(*this).adapt_await(static_cast<T&&>(value));
  }
};

// ---- yield ---------------------------------------------------------------------------------------------

/// `co_yield value;` suspends and shows the value, without a copy, to whoever resumed the coroutine.
template <class T>
class yields {
 public:
  std::suspend_always yield_value(const T& value) noexcept {
    yielded_ = __builtin_addressof(value);
    return {};
  }
  /// The value of the current co_yield. Requires: suspended at one.
  [[nodiscard]] const T& yielded() const noexcept { return *yielded_; }

 private:
  const T* yielded_ = nullptr;
};

}  // namespace part
}  // namespace coracle
