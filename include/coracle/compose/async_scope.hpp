// coracle/compose/async_scope.hpp -- a nursery: start children now, join them all later.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/scope_state.hpp>
#include <coracle/compose/detail/spawned_work.hpp>
#include <coracle/compose/scope_future.hpp>
#include <coracle/core/invoke.hpp>

namespace coracle {
namespace detail {
template <class F, class... Args>
concept call_of_child =
    !awaitable<std::decay_t<F>> && !scheduler<std::remove_reference_t<F>> && returns_awaitable<F, Args...> &&
    fits_into_frame<invocation<std::decay_t<F>, std::decay_t<Args>...>>;
}  // namespace detail

/// Children that are started without being awaited one by one; join() waits for all of them.
///
///     sent_.spawn(send(letter));  // sent_ is a member
///     sent_.spawn([log]() -> coracle::task<> { co_await log->flush(); });  // not called here, so it is kept
///     co_await sent_.join();      // before it is destroyed
///
/// Prefer with_scope() in place of a local scope: it joins on every way out. Prefer when_all where the
/// children are known beforehand and their results matter.
/// Order         spawn() runs the child until it first suspends, and then returns. Where more than 16 such
///               calls, of spawn(), when_all and when_any, are nested, the child starts before the outermost
///               of them returns.
/// Resumes on    join(): the executor of the awaiting coroutine; without one, where the last child ended.
/// Cancellation  children inherit the environment passed to the scope, by default an empty one, with a stop
///               token of the scope's own. They are stopped by request_stop(), a failed sibling, a stop
///               request to that environment, and a stop request to the coroutine that awaits join(), which
///               still waits for all. After a request from outside, join() throws operation_cancelled if a
///               child was cancelled, or if stop was requested before join() was awaited. Otherwise a
///               cancelled child counts as ended. One that a failed sibling stops is destroyed where it
///               waits, as by when_all. A child spawned into a stopped scope is started nevertheless; one
///               spawned on a scheduler is not, because the request cancels the schedule() that takes it
///               there.
/// Exceptions    join() throws the error that left a child; if several did, an error_group; std::bad_alloc if
///               a child waited and the stop source could not be allocated. With a policy that stops no
///               children the constructor allocates it, and throws std::bad_alloc. spawn(): std::bad_alloc,
///               and what moving the awaitable, or copying a function or its arguments, throws; nothing is
///               started then.
/// Threads       spawn() from any thread, until join() is awaited; after that only from a child. join() is
///               awaited once, and not by a child. Children may end on any threads.
/// Cost          one stop source, allocated once a child waits, or with the scope if its policy stops no
///               children; one frame for each child, besides the child's own; two atomic operations;
///               constant stack. A scope into which something was spawned, and that is destroyed without
///               join(), ends the program, in every build; it names the children that run.
class async_scope {
  template <class T>
  static constexpr bool is_child =
      detail::work<std::decay_t<T>> && std::constructible_from<std::decay_t<T>, T> &&
      detail::fits_into_frame<std::decay_t<T>>;
  /// The type in which a child, or the function that returns it, is stored.
  template <class T>
  using kept_t = detail::work_t<std::decay_t<T>>;
  template <class T>
  using result_t = detail::kept_result_t<kept_t<T>>;

 public:
  async_scope() : async_scope(scope_policy::fail_fast()) {}
  explicit async_scope(scope_policy policy, const environment& inherited = {})
      : state_(std::move(policy), detail::parent_of_children(inherited)) {}
  async_scope(const async_scope&) = delete;
  async_scope& operator=(const async_scope&) = delete;
  /// For with_scope(), whose coroutine joins the scope on every way out.
  async_scope(scope_policy policy, const detail::parent_of_children& parent)
      : state_(std::move(policy), parent) {}

  /// Starts `work`, an awaitable or a function that returns one; it is moved in, or copied, and kept until
  /// the child has ended. Drops the result.
  template <class Work>
    requires(is_child<Work>)
  void spawn(Work&& work, std::source_location where = std::source_location::current()) {
    using kept = kept_t<Work>;
    detail::start_in_scope(*new detail::spawned_work<kept>(
        state_, where, kept(detail::as_awaitable(static_cast<Work&&>(work)))));
  }
  /// Starts `work` on `place`, which is kept by reference if it is an lvalue.
  template <class Scheduler, class Work>
    requires(is_child<Work> && scheduler<std::remove_reference_t<Scheduler>>)
  void spawn(Scheduler&& place, Work&& work, std::source_location where = std::source_location::current()) {
    using kept = kept_t<Work>;
    detail::start_in_scope(
        *new detail::work_spawned_on<Scheduler, kept>(state_, where, static_cast<Scheduler&&>(place),
                                                      kept(detail::as_awaitable(static_cast<Work&&>(work)))));
  }
  /// Starts what `f(args...)` returns: short for spawn(invoke(f, args...)). Write the latter where the report
  /// of a child that was never joined should show where it was spawned.
  template <class F, class First, class... Rest>
    requires detail::call_of_child<F, First, Rest...>
  void spawn(F&& f, First&& first, Rest&&... rest) {
    spawn(invoke(static_cast<F&&>(f), static_cast<First&&>(first), static_cast<Rest&&>(rest)...));
  }
  /// Starts on `place` what `f(args...)`, called there, returns.
  template <class Scheduler, class F, class First, class... Rest>
    requires(scheduler<std::remove_reference_t<Scheduler>> && detail::call_of_child<F, First, Rest...>)
  void spawn(Scheduler&& place, F&& f, First&& first, Rest&&... rest) {
    spawn(static_cast<Scheduler&&>(place),
          invoke(static_cast<F&&>(f), static_cast<First&&>(first), static_cast<Rest&&>(rest)...));
  }
  template <class... Ts>
  void spawn(Ts&&...) {
    static_assert(
        detail::never<Ts...>,
        "spawn needs an awaitable that can be moved in: a call that returns a task, or std::move of a task "
        "that has a name; or a function that returns one, with its arguments: std::ref(x) for a parameter "
        "that is an lvalue reference; aligned to 16 bytes at most; before it, if need be, a scheduler");
  }
  /// Starts `work`, as spawn() does, and keeps its result for the future.
  template <class Work>
    requires(is_child<Work> && detail::fits_into_frame<result_t<Work>>)
  [[nodiscard("use spawn() for a child whose result nobody awaits")]]
  scope_future<result_t<Work>> spawn_future(Work&& work,
                                            std::source_location where = std::source_location::current()) {
    using kept = kept_t<Work>;
    auto* const child =
        new detail::promised_work<kept>(state_, where, kept(detail::as_awaitable(static_cast<Work&&>(work))));
    scope_future<result_t<Work>> future{*child};
    detail::start_in_scope(*child);
    return future;
  }
  template <class F, class First, class... Rest>
    requires detail::call_of_child<F, First, Rest...>
  [[nodiscard("use spawn() for a child whose result nobody awaits")]]
  auto spawn_future(F&& f, First&& first, Rest&&... rest) {
    return spawn_future(
        invoke(static_cast<F&&>(f), static_cast<First&&>(first), static_cast<Rest&&>(rest)...));
  }
  template <class... Ts>
  auto spawn_future(Ts&&...) {
    static_assert(
        detail::never<Ts...>,
        "spawn_future needs an awaitable that can be moved in: a call that returns a task, or "
        "std::move of a task that has a name; or a function that returns one, with its arguments; it and its "
        "result aligned to 16 bytes at most");
    return detail::any_awaiter::anything{};
  }

#if CORACLE_CHECKS_CAPTURES()
  // clang then warns of a task that refers to a temporary, such as the lambda whose coroutine it is (ADR 5).
  template <class T>
  void spawn(task<T> work CORACLE_KEPT_BY_THIS(),
             std::source_location where = std::source_location::current()) {
    spawn<task<T>>(std::move(work), where);
  }
  template <class Scheduler, class T>
    requires scheduler<std::remove_reference_t<Scheduler>>
  void spawn(Scheduler&& place, task<T> work CORACLE_KEPT_BY_THIS(),
             std::source_location where = std::source_location::current()) {
    spawn<Scheduler, task<T>>(static_cast<Scheduler&&>(place), std::move(work), where);
  }
  template <class T>
  [[nodiscard("use spawn() for a child whose result nobody awaits")]]
  scope_future<T> spawn_future(task<T> work CORACLE_KEPT_BY_THIS(),
                               std::source_location where = std::source_location::current()) {
    return spawn_future<task<T>>(std::move(work), where);
  }
#endif

  /// Requests a stop of all children, including those spawned later. Returns true for the first request.
  /// Requires: a reason.
  bool request_stop(stop_reason why = stop_reason::requested) noexcept {
    CORACLE_REQUIRE(why != stop_reason::none, "a stop was requested with stop_reason::none: give the reason");
    return state_.request_stop(why);
  }
  /// Returns the token that the children inherit.
  [[nodiscard]] stop_token get_token() const noexcept { return state_.stop_of_children(); }

  class join_operation;
  /// Awaitable of nothing: waits until all children have ended.
  join_operation join() noexcept;

 private:
  detail::scope_state state_;
};

class [[nodiscard("nothing is joined until this is awaited")]] async_scope::join_operation
    : detail::stop_registration {
 public:
  explicit join_operation(async_scope& scope) noexcept
      : stop_registration(&stop_requested), scope_(scope.state_) {}
  // Copies an operation that has not been awaited yet.
  join_operation(const join_operation& other) noexcept
      : stop_registration(&stop_requested), scope_(other.scope_) {}
  join_operation& operator=(const join_operation&) = delete;
  ~join_operation() { remove(); }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    return scope_.join(suspended, *this);
  }
  [[nodiscard]] stop_reason await_cancelled() noexcept {
    remove();
    return scope_.join_cancelled();
  }
  [[nodiscard]] std::exception_ptr await_failure() noexcept {
    return scope_.has_errors() ? scope_.take_errors() : nullptr;
  }
  void await_resume() {
    const stop_reason why = await_cancelled();
    if (scope_.has_errors()) [[unlikely]]
      detail::rethrow(scope_.take_errors());
    if (why != stop_reason::none) [[unlikely]]
      detail::throw_cancelled(why);
  }

 private:
  static void stop_requested(detail::stop_listener& listener) noexcept {
    auto& mine = static_cast<join_operation&>(listener);
    mine.scope_.joiner_stopped(mine.why());
  }
  detail::scope_state& scope_;
};
inline async_scope::join_operation async_scope::join() noexcept { return join_operation{*this}; }
}  // namespace coracle
