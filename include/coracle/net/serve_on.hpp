// coracle/net/serve_on.hpp -- a server whose connections are spread over several threads.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/io_service_group.hpp>
#include <coracle/net/serve.hpp>
#include <utility>

namespace coracle::net {
namespace detail {
template <class T>
concept spreadable_listener =
    connection_listener<T> && requires(T& from, io_service& service, accepted_from<T>& accepted) {
      from.accept_on(service, stop_token{});
      accepted.service().schedule();
    };

/// Accepts each connection on the next io_service of a group.
template <class Listener>
class spreading_listener {
 public:
  spreading_listener(Listener& accepts, io_service_group& workers) noexcept
      : accepts_(accepts), workers_(workers) {}
  auto accept(stop_token token) noexcept { return accepts_.accept_on(workers_.next(), std::move(token)); }

 private:
  Listener& accepts_;
  io_service_group& workers_;
};
}  // namespace detail

/// As serve(), but on several threads: each connection of `listener`, a socket or a unix_socket, is put on
/// the next io_service of `workers`, where its handler starts and its operations resume.
///
///     coracle::io_service io;
///     coracle::io_service_group workers;
///     io.run(coracle::when_any(signals.wait(), coracle::net::serve_on(workers, listener, handler)));
///
/// Order         connections go to the io_services in turn, whatever they cost. For a few long and uneven
///               ones, that is not balanced.
/// Resumes on    serve_on() itself: where it was awaited, which may be one of `workers` or another
///               io_service.
/// Threads       `handler` and `on_error` are called on the threads of `workers`, concurrently; `on_error`
///               also where serve_on() was awaited, for a connection that was not accepted. The listener and
///               `workers` must outlive serve_on().
/// Cost          as serve(), and for each connection another frame, and a post to its thread.
/// The other fields are those of serve().
template <detail::spreadable_listener Listener, detail::connection_handler<accepted_from<Listener>> Handler>
[[nodiscard("nothing is accepted until this is awaited")]] task<> serve_on(
    io_service_group& workers, Listener& listener, Handler handler, serve_limits limits = {},
    scope_policy::handler on_error = nullptr) {
  detail::spreading_listener spread{listener, workers};
  const auto handle_there = [&handler](accepted_from<Listener> client) -> task<> {
    co_await client.service().schedule();
    co_await handler(std::move(client));
  };
  co_await serve(spread, handle_there, limits, std::move(on_error));
}
template <class Listener, class Handler>
auto serve_on(io_service_group&, Listener&, Handler, serve_limits = {}, scope_policy::handler = nullptr) {
  constexpr bool can_spread = detail::spreadable_listener<Listener>;
  static_assert(can_spread,
                "serve_on() needs a listener such as a socket or unix_socket, whose accept_on() puts a "
                "connection on another io_service, as its service() says: for one without it, write "
                "serve(listener, handler)");
  static_assert(!can_spread,
                "serve_on() needs a function that takes a connection by value and returns a task: "
                "[](socket client) -> coracle::task<> { ... }");
  return coracle::detail::any_awaiter{};
}
template <class Listener, class Handler, class Limits, class... Rest>
  requires(!std::is_convertible_v<Limits, serve_limits>)
auto serve_on(io_service_group&, Listener&&, Handler&&, Limits&&, Rest&&...) {
  return detail::no_serve_limits<Limits>();
}
template <class Listener, class Handler, class OnError>
  requires(!std::is_convertible_v<OnError, scope_policy::handler>)
auto serve_on(io_service_group&, Listener&&, Handler&&, const serve_limits&, OnError&&) {
  return detail::no_error_handler<OnError>();
}
}  // namespace coracle::net
