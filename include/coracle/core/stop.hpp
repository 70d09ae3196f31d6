// coracle/core/stop.hpp -- request work to stop, and observe the request.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/exchange.hpp>
#include <coracle/core/detail/stop_state.hpp>
#include <utility>

// Code that has a std::stop_token includes <stop_token>. For all other code the declarations suffice: that
// header would bring threads, streams and locales into everything that waits. A future version of libstdc++
// may declare them differently.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15
namespace std {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
class stop_token;
class stop_source;
template <class>
class stop_callback;
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#else
#include <stop_token>
#endif

namespace coracle {
namespace detail {
/// Follows a std::stop_token.
template <std::same_as<std::stop_token> Token>
class following_state final : public stop_state {
 public:
  explicit following_state(const Token& followed)
      : stop_state(1), followed_(followed), relay_(followed, relay{this}) {}
  [[nodiscard]] bool has_source() noexcept override { return requested() || followed_.stop_possible(); }

 private:
  struct relay {
    following_state* self;
    void operator()() const noexcept {
      // While the function runs it holds a reference, so no other thread waits for it inside the destructor.
      if (!self->keep_unless_dropped()) return;
      self->request(stop_reason::requested);
      self->drop();
    }
  };
  Token followed_;
  std::stop_callback<relay> relay_;
};
class linked_stop_source;
}  // namespace detail
class stop_source;

/// Tells whether stop was requested, and why. Any number of tokens may refer to one stop_source.
///
///     while (!token.stop_requested()) co_await step();
///
/// Converts from std::stop_token (one allocation); for the opposite direction use a callback:
///     coracle::stop_callback relay{token, [&source] { source.request_stop(); }};  // a std::stop_source
///
/// Threads  any number of threads may use copies at once.
/// Cost     one pointer; a copy is an atomic increment.
class stop_token {
 public:
  /// A token for which stop is never requested.
  stop_token() noexcept = default;
  /// Follows `other`. Equals only its copies: not what another conversion of `other` gives. Throws
  /// std::bad_alloc.
  template <std::same_as<std::stop_token> Token>
  stop_token(const Token& other)  // NOLINT: a token is a token
      : state_(other.stop_possible() ? new detail::following_state<Token>(other) : nullptr) {}
  stop_token(const stop_source&) = delete;       // pass the token of the source: source.get_token()
  stop_token(const std::stop_source&) = delete;  // pass the token of the source: source.get_token()
  stop_token(const stop_token& other) noexcept : state_(other.state_ ? &kept(*other.state_) : nullptr) {}
  stop_token(stop_token&& other) noexcept : state_(detail::exchange(other.state_, nullptr)) {}
  stop_token& operator=(stop_token other) noexcept {
    detail::swap_values(state_, other.state_);
    return *this;
  }
  constexpr ~stop_token() {
    if (state_) kept_state().drop();
  }

  /// Once true, always true; what the requester did before is then visible.
  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  /// Returns the reason, or none if stop was not requested.
  [[nodiscard]] stop_reason reason() const noexcept { return state_ ? state_->reason() : stop_reason::none; }
  /// Returns false if stop was not requested and no source is left that could request it.
  [[nodiscard]] bool stop_possible() const noexcept { return state_ && state_->possible(); }

  friend bool operator==(const stop_token& one, const stop_token& other) noexcept {
    return detail::stop_point::are_same(one.state_, other.state_);
  }

 private:
  friend class stop_source;
  friend class detail::stop_registration;
  friend class detail::linked_stop_source;
  template <class>
  friend class stop_callback;
  explicit stop_token(detail::stop_point* lent_or_kept) noexcept : state_(lent_or_kept) {}
  static detail::stop_state& kept(detail::stop_point& point) noexcept {
    detail::stop_state& state = point.state();
    state.keep_longer();
    return state;
  }

  /// Requires: not lent.
  [[nodiscard]] detail::stop_state& kept_state() const noexcept {
    return static_cast<detail::stop_state&>(*state_);
  }

  detail::stop_point* state_ = nullptr;  // a stop_state, unless it is lent
};

/// Requests stop. Copies share one state.
///
///     coracle::stop_source source;
///     co_await coracle::stop_when(serve(), source.get_token());  // elsewhere: source.request_stop()
///
/// Order       callbacks run in the order of their registration, before request_stop() returns.
/// Resumes on  a coroutine that a callback wakes outside any executor continues after the last callback,
///             inside request_stop().
/// Threads     all members are thread-safe; only the first request runs the callbacks.
/// Cost        one allocation for a source, none for a token or a callback.
class stop_source {
 public:
  /// Throws std::bad_alloc.
  stop_source() : state_(new detail::stop_state(1)) {}
  stop_source(const stop_source& other) noexcept;
  stop_source(stop_source&& other) noexcept : state_(detail::exchange(other.state_, nullptr)) {}
  stop_source& operator=(stop_source other) noexcept {
    detail::swap_values(state_, other.state_);
    return *this;
  }
  ~stop_source() {
    if (!state_) return;
    state_->drop_source();
    state_->drop();
  }

  /// Returns an empty token if this was moved from.
  [[nodiscard]] stop_token get_token() const noexcept {
    if (state_) state_->keep();
    return stop_token{state_};
  }
  /// Returns true if this was the first request; all callbacks have then returned. Requires: a reason.
  bool request_stop(stop_reason why = stop_reason::requested) noexcept;
  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  [[nodiscard]] stop_reason reason() const noexcept { return state_ ? state_->reason() : stop_reason::none; }

  friend bool operator==(const stop_source&, const stop_source&) = default;

 private:
  detail::stop_state* state_ = nullptr;
};

/// Calls a function once stop is requested: in its own constructor if that has already happened, otherwise
/// inside request_stop(), on the requesting thread. The destructor deregisters the function.
///
///     coracle::stop_callback on_stop{token, [&]() noexcept { event.set(); }};
///
/// Order       the callbacks that one request runs are called in the order of registration.
/// Exceptions  if the function throws, std::terminate is called.
/// Threads     the destructor returns once the function is not running and will not run: it waits for a call
///             on another thread, but not inside that call itself. No coroutine that a callback wakes runs
///             inside it, so two callbacks that wake each other's owners cannot deadlock.
/// Cost        no allocation.
template <class Function>
class [[nodiscard("a stop_callback that is dropped is deregistered at once: give it a name")]] stop_callback
    : detail::stop_listener {
 public:
  template <class F>
    requires std::is_constructible_v<Function, F>
  stop_callback(stop_token token, F&& function) noexcept(std::is_nothrow_constructible_v<Function, F>)
      : stop_listener(&call), function_(static_cast<F&&>(function)), token_(std::move(token)) {
    if (token_.state_ && !token_.kept_state().add(*this)) {
      token_ = {};
      const detail::wake_after_callbacks put_off{detail::this_thread()};
      call(*this);
    }
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;
  ~stop_callback() {
    if (token_.state_) token_.kept_state().remove(*this);
  }

 private:
  static void call(stop_listener& self) noexcept { static_cast<stop_callback&>(self).function_(); }

  Function function_;
  stop_token token_;
};
template <class Function>
stop_callback(stop_token, Function) -> stop_callback<Function>;

// The function before the token: a static_assert says so.
template <class Function>
stop_callback(Function, stop_token) -> stop_callback<void(Function, stop_token)>;
template <class Function>
class stop_callback<void(Function, stop_token)> {
 public:
  stop_callback(const Function&, const stop_token&) {
    static_assert(!sizeof(Function*), "the token comes before the function: stop_callback{token, function}");
  }
};

namespace detail {
inline bool stop_registration::may_be_late(const stop_token& token) noexcept {
  return !is_empty(token) && may_be_late_by(token);
}
inline bool stop_registration::may_be_late_by(const stop_token& token) noexcept {
  return token.state_->may_be_requested();
}
inline bool stop_registration::is_empty(const stop_token& token) noexcept { return !token.state_; }
inline stop_state* stop_registration::state_of(const stop_token& token) noexcept {
  return token.state_ ? &token.state_->state() : nullptr;
}
inline bool stop_registration::add_to(const stop_token& token) noexcept {
  return !token.state_ || add_to(token.state_->state());
}
}  // namespace detail
}  // namespace coracle
