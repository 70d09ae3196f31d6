// tests/compat/cppcoro_socket_test.cpp -- sockets that can be copied, as in the later fork of cppcoro.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <concepts>
#include <cppcoro/io_service.hpp>
#include <cppcoro/net/socket.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace {
using cppcoro::io_service;
using cppcoro::task;
using cppcoro::net::socket;

static_assert(std::copyable<socket>);
static_assert(std::is_same_v<decltype(socket::create_tcpv4(std::declval<io_service&>())), socket>);
static_assert(std::is_convertible_v<coracle::net::socket, socket>);

struct connected {
  socket client, server;
};
connected connect(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(cppcoro::net::ipv4_endpoint{cppcoro::net::ipv4_address::loopback(), 0});
  listener.listen();
  connected both{socket::create_tcpv4(io), socket::create_tcpv4(io)};
  const auto meet = [&]() -> task<> {
    co_await both.client.connect(listener.local_endpoint());
    co_await listener.accept(both.server);
  };
  const task<> meeting = meet();
  io.run(meeting);
  return both;
}

TEST_CASE("cppcoro::net::socket: a copy is another descriptor of the same connection") {
  io_service io;
  connected pair = connect(io);
  const auto converse = [&]() -> task<std::string> {
    socket copy = pair.server;
    CHECK(copy.native_handle() != pair.server.native_handle());
    CHECK(copy.local_endpoint() == pair.server.local_endpoint());
    CHECK(copy.remote_endpoint() == pair.server.remote_endpoint());
    CHECK(pair.server.close() == 0);  // the copy is not closed with it
    CHECK(co_await copy.send("hello", 5) == 5);
    std::string text(5, ' ');
    CHECK(co_await pair.client.recv(text.data(), text.size()) == text.size());
    co_return text;
  };
  const task<std::string> conversation = converse();
  CHECK(io.run(conversation) == "hello");
}

TEST_CASE("cppcoro::net::socket: one copy receives while the other sends, and waits for it") {
  io_service io;
  connected pair = connect(io);
  const auto receive = [](socket from) -> task<char> {
    char got = 0;
    CHECK(co_await from.recv(&got, 1) == 1);
    co_return got;
  };
  const auto send = [](socket to) -> task<> { CHECK(co_await to.send("x", 1) == 1); };
  const auto both = [&]() -> task<char> {
    auto [first, none, second, none_either] = co_await cppcoro::when_all(
        receive(pair.server), send(pair.client), receive(pair.client), send(pair.server));
    static_cast<void>(none);
    static_cast<void>(none_either);
    CHECK(second == 'x');
    co_return first;
  };
  const task<char> all = both();
  CHECK(io.run(all) == 'x');
}

TEST_CASE("cppcoro::net::socket: a copy of a closed one is closed; assigning closes what was there") {
  io_service io;
  socket one = socket::create_tcpv4(io), other = socket::create_udpv6(io);
  one.close();
  socket copy = one;
  CHECK(copy.native_handle() == -1);
  copy = other;
  CHECK(copy.native_handle() >= 0);
  CHECK(copy.native_handle() != other.native_handle());
  const int before = copy.native_handle();
  const socket& itself = copy;
  copy = itself;
  CHECK(copy.native_handle() >= 0);
  static_cast<void>(before);
  copy = std::move(other);
  CHECK(other.native_handle() == -1);
}
}  // namespace
