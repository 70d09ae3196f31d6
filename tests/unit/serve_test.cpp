// tests/unit/serve_test.cpp -- the limits, errors and shutdown of a server, on a simulated network.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <coracle/base/exchange.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/descriptor_limit.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::operation_cancelled;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::serve;
using coracle::net::serve_limits;
using coracle::net::socket;

struct world {
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host server{network, "10.0.0.1"}, client{network, "10.0.0.2"};
  const ip_endpoint address{server.address(), 80};
  socket listener = listening();

  socket listening() {
    socket made = socket::create_tcpv4(server.io());
    made.bind(address);
    made.listen();
    return made;
  }
  std::chrono::steady_clock::time_point now() { return server.io().timers()->now(); }

  /// Awaitable of the server's answer, or 0 if it closes the connection.
  task<char> ask(char question) {
    co_await client.io().schedule();
    socket connection = socket::create_tcpv4(client.io());
    co_await connection.connect(address);
    co_await connection.send(&question, 1);
    char answer = 0;
    try {
      co_await connection.recv(&answer, 1);
    } catch (const std::system_error&) {  // reset
    }
    co_return answer;
  }
  template <class Handler>
  task<> serve_here(Handler handler, serve_limits limits, coracle::scope_policy::handler on_error = nullptr) {
    co_await server.io().schedule();
    co_await serve(listener, std::move(handler), limits, std::move(on_error));
  }
};

/// Answers each question after a while, and records how many connections it has.
struct slow_answers {
  std::chrono::nanoseconds time = 1s;
  int now = 0, most = 0, ended = 0, cancelled = 0;

  task<> operator()(socket client) {
    most = std::max(most, ++now);
    char question = 0;
    co_await client.recv(&question, 1);
    if (question == '!') {
      --now;
      throw std::runtime_error("cannot answer");
    }
    try {
      co_await coracle::sleep_for(time);
    } catch (const operation_cancelled&) {
      ++cancelled;
      throw;
    }
    co_await client.send(&question, 1);
    --now;
    ++ended;
  }
};

TEST_CASE("serve: has no more connections at a time than it is allowed, and the others wait for their turn") {
  world its;
  slow_answers answers;
  const auto handler = [&](socket client) { return answers(std::move(client)); };
  const auto ask_five = [&]() -> task<std::string> {
    auto [a, b, c, d, e] =
        co_await coracle::when_all(its.ask('a'), its.ask('b'), its.ask('c'), its.ask('d'), its.ask('e'));
    co_return std::string{a, b, c, d, e};
  };
  const auto first =
      its.sim.run(coracle::when_any(ask_five(), its.serve_here(handler, {.connections = 2, .drain = 1s})));
  CHECK(std::get<0>(first) == "abcde");
  CHECK(answers.most == 2);
  CHECK(answers.ended == 5);
}

TEST_CASE("serve: a loser of a race that waits for a place still joins its connections") {
  world its;
  slow_answers answers;
  const auto handler = [&](socket client) { return answers(std::move(client)); };
  const auto ask_and_leave = [&]() -> task<char> {
    const auto first = co_await coracle::when_any(coracle::sleep_for(500ms), its.ask('a'), its.ask('b'));
    co_return first.index() == 0 ? '-' : '+';
  };
  const auto first = its.sim.run(
      coracle::when_any(ask_and_leave(), its.serve_here(handler, {.connections = 1, .drain = 9s})));
  CHECK(std::get<0>(first) == '-');
  CHECK(answers.most == 1);
}

TEST_CASE("serve: throws when it is stopped, also where other tasks end without an exception") {
  world here;
  int caught = 0;
  const auto server = [&]() -> task<> {
    try {
      co_await here.serve_here([](socket) -> task<> { co_return; }, {});
    } catch (const operation_cancelled&) {
      ++caught;
    }
  };
  const auto first = [&]() -> task<> { co_await coracle::sleep_for(1s); };
  here.sim.run(coracle::when_any(first(), server()));
  CHECK(caught == 1);
  here.sim.run(coracle::as_outcome(coracle::stop_after(server(), 1s)));
  CHECK(caught == 2);
}

TEST_CASE("serve: an error of one connection ends that one, and is told") {
  world its;
  slow_answers answers;
  int errors = 0;
  const auto handler = [&](socket client) { return answers(std::move(client)); };
  const auto note = [&](const std::exception_ptr&) { ++errors; };
  const auto ask_three = [&]() -> task<std::string> {
    auto [a, b, c] = co_await coracle::when_all(its.ask('a'), its.ask('!'), its.ask('c'));
    co_return std::string{a, b == 0 ? '-' : b, c};
  };
  const auto first =
      its.sim.run(coracle::when_any(ask_three(), its.serve_here(handler, serve_limits{}, note)));
  CHECK(std::get<0>(first) == "a-c");
  CHECK(errors == 1);
}

/// Asks, and stops the server a second later. Returns the answer, and how long the server continued.
std::pair<char, std::chrono::nanoseconds> stopped_after_a_second(slow_answers& answers, serve_limits limits) {
  world its;
  const auto handler = [&](socket client) { return answers(std::move(client)); };
  std::chrono::nanoseconds took{};
  const auto stop = [&]() -> task<> {
    const auto begun = its.now();
    co_await coracle::when_any(its.serve_here(handler, limits), coracle::sleep_for(1s));
    took = its.now() - begun - 1s;
  };
  const auto both = its.sim.run(coracle::when_all(its.ask('a'), stop()));
  return {std::get<0>(both), took};
}

TEST_CASE("serve: a stop lets connections end in the time that they are given") {
  slow_answers answers{.time = 3s};
  const auto [answer, took] = stopped_after_a_second(answers, {.connections = 10, .drain = 10s});
  CHECK(answer == 'a');
  CHECK(answers.cancelled == 0);
  CHECK(took < 3s);
}

TEST_CASE("serve: a stop cancels what has not ended in time") {
  slow_answers answers{.time = 1h};
  const auto [answer, took] = stopped_after_a_second(answers, {.connections = 10, .drain = 5s});
  CHECK(answer == 0);
  CHECK(answers.cancelled == 1);
  CHECK(took >= 5s);
  CHECK(took < 6s);
}

TEST_CASE(
    "serve: ends with operation_cancelled after a stop, and with the error of a listener that does not "
    "listen") {
  world its;
  const auto nothing = [](socket) -> task<> { co_return; };
  const auto stopped = [&]() -> task<> {
    coracle::stop_source stop;
    stop.request_stop();
    CHECK_THROWS_AS(co_await coracle::with_stop(its.serve_here(nothing, {}), stop.get_token()),
                    operation_cancelled);
  };
  its.sim.run(stopped());
  its.listener = socket::create_tcpv4(its.server.io());
  const auto failed = [&]() -> task<> {
    CHECK_THROWS_AS(co_await its.serve_here(nothing, {}), std::system_error);
  };
  its.sim.run(failed());
}

/// Counts the errors that report a refused connection.
struct counts_refusals {
  int& count;
  void operator()(const std::exception_ptr& error) const {
    try {
      std::rethrow_exception(error);
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::too_many_files_open) ++count;
    }
  }
};
/// A listener with a connection at any time. Each takes a descriptor of this process.
struct busy_listener {
  task<coracle::owned_descriptor> accept(coracle::stop_token) {
    co_await coracle::sleep_for(1ms);
    const int fd = ::dup(STDERR_FILENO);
    if (fd < 0) throw std::system_error(errno, std::system_category());
    co_return coracle::owned_descriptor{fd};
  }
};

TEST_CASE("serve: begun without a descriptor, it refuses connections as soon as one is free") {
  world its;
  busy_listener listener;
  int served = 0, refused = 0;
  const auto keep = [&](coracle::owned_descriptor) -> task<> {
    ++served;
    co_await coracle::sleep_for(1h);
  };
  const auto begin = [&]() -> task<> {
    co_await its.server.io().schedule();
    co_await serve(listener, keep, {.drain = 0s}, counts_refusals{refused});
  };
  const auto make_room = [&](coracle_test::descriptor_limit& limited) -> task<> {
    co_await coracle::sleep_for(10s);
    CHECK(refused == 0);
    limited.set(1);
    co_await coracle::sleep_for(30ms);
    CHECK(refused != 0);
    co_await coracle::sleep_for(1s);
    CHECK(refused >= 30);
    CHECK(served == 0);
    limited.set(2);
    co_await coracle::sleep_for(30ms);
    CHECK(served == 1);
  };
  coracle_test::descriptor_limit limited{0};
  its.sim.run(coracle::when_any(begin(), make_room(limited)));
}

TEST_CASE("serve: refuses connections for which there is no descriptor, and goes on with the others") {
  constexpr int room_for = 4, come = 12;
  coracle::io_service io;
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  std::vector<socket> clients;
  for (int i = 0; i != come; ++i) clients.push_back(socket::create_tcpv4(io));
  int served = 0, refused = 0, told = 0;
  const auto echo = [&](socket client) -> task<> {
    char byte = 0;
    while (co_await client.recv_exactly(&byte, 1) != 0) co_await client.send_all(&byte, 1);
  };
  // Each answered client keeps its connection, and with it a descriptor, until all have been answered or
  // refused.
  const auto talk = [&]() -> task<> {
    for (socket& each : clients) {
      co_await each.connect(listener.local_endpoint());
      char byte = 'x';
      try {
        co_await each.send_all(&byte, 1);
        const std::size_t size = co_await each.recv(&byte, 1);
        (size == 1 ? served : refused) += 1;
      } catch (const std::system_error&) {
        ++refused;
      }
    }
    clients.clear();
    clients.push_back(socket::create_tcpv4(io));
    co_await clients[0].connect(listener.local_endpoint());
    char byte = 'y';
    co_await clients[0].send_all(&byte, 1);
    CHECK(co_await clients[0].recv(&byte, 1) == 1);  // there is room again
    clients.clear();                                 // or serve() would wait for the end of this connection
  };
  const coracle_test::descriptor_limit limited{room_for + 1};  // and the spare one
  io.run(coracle::when_any(talk(), serve(listener, echo, serve_limits{}, counts_refusals{told})));
  CHECK(served == room_for);
  CHECK(refused == come - room_for);
  CHECK(told == refused);
}

TEST_CASE("serve: without memory it joins its connections all the same" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  coracle::io_service io;
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  const auto listen = [](socket client) -> task<> {
    char byte;
    co_await client.recv(&byte, 1);
  };
  const auto serve_one = [&] {
    socket client = socket::create_tcpv4(io);
    io.run(client.connect(listener.local_endpoint()));
    coracle::stop_source stop;
    const auto serve_here = [&]() -> task<> { co_await serve(listener, listen, {.drain = 0s}); };
    const auto stop_soon = [&]() -> task<> {
      co_await io.schedule();
      stop.request_stop();
    };
    try {
      io.run(coracle::when_all(coracle::with_stop(serve_here(), stop.get_token()), stop_soon()));
    } catch (const operation_cancelled&) {
    }
  };
  serve_one();  // what is made once
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      serve_one();
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 15);
}

/// A listener after whose first connection the k-th allocation fails, up to the next accept().
struct memory_runs_out {
  socket& listener;
  int k;
  bool is_over = false;
  std::optional<coracle::testing::failing_allocation> failing{};

  task<socket> accept(coracle::stop_token token) {
    failing.reset();
    socket client = co_await listener.accept(std::move(token));
    if (!coracle::detail::exchange(is_over, true)) {
      coracle::trim_frame_memory();
      failing.emplace(k);
    }
    co_return client;
  }
};

TEST_CASE("serve: a connection for which there is no memory is closed and told, and the others are served" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  int closed = 0;
  for (int k = 1; k <= 5; ++k) {
    world its;
    memory_runs_out listener{its.listener, k};
    slow_answers answers;
    const auto handler = [&](socket client) { return answers(std::move(client)); };
    int told = 0;
    const auto note = [&](const std::exception_ptr& error) {
      CHECK_THROWS_AS(std::rethrow_exception(error), std::bad_alloc);
      ++told;
    };
    char first = '-', second = '-';
    const auto ask_two = [&]() -> task<> {
      first = co_await its.ask('a');
      second = co_await its.ask('b');
    };
    const auto serve_here = [&]() -> task<> {
      co_await its.server.io().schedule();
      co_await serve(listener, handler, serve_limits{}, note);
    };
    its.sim.run(coracle::when_any(ask_two(), serve_here()));
    CHECK(second == 'b');
    CHECK(first == (told == 0 ? 'a' : '\0'));
    closed += told;
  }
  CHECK(closed >= 3);  // the two frames of the child, and that of the handler
}

/// Has no memory for its first connections.
struct without_memory {
  socket& listener;
  int times;

  task<socket> accept(coracle::stop_token token) {
    if (times-- > 0) throw std::bad_alloc();
    socket client = co_await listener.accept(std::move(token));
    co_return client;
  }
};

TEST_CASE("serve: accepts again 10 ms after there was no memory for it") {
  world its;
  without_memory listener{its.listener, 3};
  slow_answers answers{.time = 1ms};
  const auto handler = [&](socket client) { return answers(std::move(client)); };
  int told = 0;
  const auto note = [&](const std::exception_ptr&) { ++told; };
  const auto begun = its.now();
  const auto serve_here = [&]() -> task<> {
    co_await its.server.io().schedule();
    co_await serve(listener, handler, serve_limits{}, note);
  };
  const auto first = its.sim.run(coracle::when_any(its.ask('a'), serve_here()));
  CHECK(std::get<0>(first) == 'a');
  CHECK(told == 3);
  CHECK(its.now() - begun >= 30ms);
}

TEST_CASE("serve: a limit of no connections ends the program and says so; one without end is none") {
  const std::string why =
      "coracle: serve() with a limit of less than one connection, so that it would accept none: set "
      "serve_limits::connections to at least 1\n";
  CHECK(coracle_test::abort_message([] {
          world its;
          its.sim.run(its.serve_here(slow_answers{}, {.connections = -5}));
        }) == why);
  CHECK(coracle_test::abort_message([] {
          world its;
          its.sim.run(its.serve_here(slow_answers{}, {.connections = 0}));
        }) == why);
  world its;
  const serve_limits limits{.connections = std::numeric_limits<std::ptrdiff_t>::max()};
  const auto ask = [&]() -> task<> { CHECK(co_await its.ask('a') == 'a'); };
  its.sim.run(coracle::when_any(ask(), its.serve_here(slow_answers{}, limits)));
}
}  // namespace
