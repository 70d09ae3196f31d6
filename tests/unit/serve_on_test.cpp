// tests/unit/serve_on_test.cpp -- several io_services with a thread each, and a server on them.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/io_service_group.hpp>
#include <coracle/net/serve_on.hpp>
#include <coracle/net/unix_socket.hpp>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "../support/abort_message.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::io_service;
using coracle::io_service_group;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::serve_on;
using coracle::net::socket;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::receive_some;

TEST_CASE("io_service_group: each io_service is run by a thread of its own") {
  io_service_group group{3};
  CHECK(group.size() == 3);
  std::map<std::thread::id, int> threads;
  std::mutex lock;
  const auto note_thread = [&](io_service& io) -> task<> {
    for (int i = 0; i != 10; ++i) {
      co_await io.schedule();
      const std::lock_guard only{lock};
      ++threads[std::this_thread::get_id()];
    }
  };
  for (std::size_t i = 0; i != group.size(); ++i) coracle::sync_wait(note_thread(group[i]));
  CHECK(threads.size() == 3);
  for (const auto& [id, count] : threads) CHECK(count == 10);
  CHECK(threads.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("io_service_group: next() takes them in turn") {
  io_service_group group{2};
  io_service* const first = &group.next();
  io_service* const second = &group.next();
  CHECK(first != second);
  CHECK(&group.next() == first);
  CHECK(&group.next() == second);
}

TEST_CASE("io_service_group: by default there is one for each processor") {
  const io_service_group group;
  CHECK(group.size() >= 1);
}

TEST_CASE("io_service_group: without threads it is a mistake") {
  CHECK(coracle_test::abort_message([] { const io_service_group none{0}; }).find("without threads") !=
        std::string::npos);
}

TEST_CASE(
    "socket: a connection can be accepted on another io_service, which then carries out its operations") {
  io_service io;
  io_service_group group{1};
  socket listener = listening(io), client = socket::create_tcpv4(io);
  std::thread::id resumed_on;
  const auto answer = [&](socket server) -> task<> {
    co_await group[0].schedule();
    char byte = 0;
    CHECK(co_await server.recv(&byte, 1) == 1);
    resumed_on = std::this_thread::get_id();
    co_await server.send_all(&byte, 1);
  };
  const auto serve = [&]() -> task<> {
    socket server = co_await listener.accept_on(group[0]);
    CHECK(server.remote_endpoint() == client.local_endpoint());
    co_await answer(std::move(server));
  };
  const auto ask = [&]() -> task<> {
    co_await client.connect(listener.local_endpoint());
    co_await io.schedule();
    co_await client.send_all("x", 1);
    CHECK(co_await receive_some(client) == "x");
  };
  io.run(coracle::when_all(serve(), ask()));
  CHECK(resumed_on != std::this_thread::get_id());
}

TEST_CASE("unix_socket: a connection can be accepted on another io_service, where serve_on() puts it") {
  using coracle::net::unix_socket;
  io_service io;
  io_service_group workers{2};
  auto listener = unix_socket::create(io, coracle::net::unix_kind::stream);
  listener.bind(coracle::net::unix_address::abstract("coracle-serve-on-" + std::to_string(::getpid())));
  listener.listen();
  std::map<std::thread::id, int> threads;
  std::mutex lock;
  const auto handler = [&](unix_socket client) -> task<> {
    CHECK(&client.service() != &io);
    char byte = 0;
    const std::size_t size = co_await client.recv(&byte, 1);
    {
      const std::lock_guard only{lock};
      ++threads[std::this_thread::get_id()];
    }
    co_await client.send_all(&byte, size);
  };
  const auto ask_all = [&]() -> task<> {
    for (int i = 0; i != 4; ++i) {
      auto client = unix_socket::create(io, coracle::net::unix_kind::stream);
      co_await client.connect(listener.local_address());
      co_await client.send_all("?");
      char answer = 0;
      CHECK(co_await client.recv(&answer, 1) == 1);
      CHECK(answer == '?');
    }
  };
  io.run(coracle::when_any(serve_on(workers, listener, handler), ask_all()));
  CHECK(threads.size() == 2);
  CHECK(threads.count(std::this_thread::get_id()) == 0);
}

/// Asks on a connection of its own, and returns the answer.
task<std::string> ask(io_service& io, ip_endpoint server) {
  socket client = socket::create_tcpv4(io);
  co_await client.connect(server);
  co_await client.send_all("?", 1);
  std::string answer = co_await receive_some(client);
  co_return answer;
}

TEST_CASE("serve_on: handlers run on the threads of the group, in turn, and nothing outlives a stop") {
  io_service io;
  io_service_group workers{2};
  socket listener = listening(io);
  std::map<std::thread::id, int> threads;
  std::mutex lock;
  std::atomic<int> ended{0};
  const auto handler = [&](socket client) -> task<> {
    char byte = 0;
    const std::size_t size = co_await client.recv(&byte, 1);
    {
      const std::lock_guard only{lock};
      ++threads[std::this_thread::get_id()];
    }
    co_await client.send_all(&byte, size);
    ++ended;
  };
  stop_source source;
  constexpr int clients = 20;
  const auto serve = [&]() -> task<> {
    bool cancelled = false;
    try {
      co_await coracle::with_stop(serve_on(workers, listener, handler), source.get_token());
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
    CHECK(cancelled);
    CHECK(ended == clients);
  };
  const auto ask_all = [&]() -> task<> {
    for (int i = 0; i != clients; ++i) {
      const std::string answer = co_await ask(io, listener.local_endpoint());
      CHECK(answer == "?");
    }
    source.request_stop();
  };
  io.run(coracle::when_all(serve(), ask_all()));
  CHECK(threads.size() == 2);
  for (const auto& [id, count] : threads) CHECK(count == clients / 2);
  CHECK(threads.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("serve_on: a connection that does not end is stopped when the time to drain is over") {
  io_service io;
  io_service_group workers{2};
  socket listener = listening(io);
  std::atomic<int> stopped{0};
  stop_source source;
  const auto handler = [&](socket client) -> task<> {
    char byte = 0;
    try {
      for (std::size_t more = 1; more != 0;) {
        more = co_await client.recv(&byte, 1);
        source.request_stop();
      }
    } catch (const operation_cancelled&) {
      ++stopped;
    }
  };
  coracle::net::serve_limits limits;
  limits.drain = std::chrono::nanoseconds{0};
  socket client = socket::create_tcpv4(io);
  const auto serve = [&]() -> task<> {
    try {
      co_await coracle::with_stop(serve_on(workers, listener, handler, limits), source.get_token());
    } catch (const operation_cancelled&) {
    }
  };
  const auto ask_once = [&]() -> task<> {
    co_await client.connect(listener.local_endpoint());
    co_await client.send_all("?", 1);
  };
  io.run(coracle::when_all(serve(), ask_once()));
  CHECK(stopped == 1);
}

TEST_CASE("serve_on: an exception of a handler ends its connection only, and is reported") {
  io_service io;
  io_service_group workers{2};
  socket listener = listening(io);
  std::atomic<int> reported{0};
  stop_source source;
  const auto handler = [](socket client) -> task<> {
    char byte = 0;
    co_await client.recv(&byte, 1);
    throw std::runtime_error("of a handler");
  };
  const auto serve = [&]() -> task<> {
    try {
      co_await coracle::with_stop(
          serve_on(workers, listener, handler, {}, [&](const std::exception_ptr&) { ++reported; }),
          source.get_token());
    } catch (const operation_cancelled&) {
    }
  };
  const auto ask_all = [&]() -> task<> {
    for (int i = 0; i != 4; ++i) {
      const std::string answer = co_await ask(io, listener.local_endpoint());
      CHECK(answer.empty());
    }
    source.request_stop();
  };
  io.run(coracle::when_all(serve(), ask_all()));
  CHECK(reported == 4);
}
}  // namespace
