// tests/unit/socket_segments_contract_test.cpp -- one buffer as many datagrams, of the system and of a
// simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/time/sleep.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "connected_sockets.hpp"
#include "service_under_test.hpp"

namespace {
using coracle::io_service;
using coracle::stop_source;
using coracle::task;
using coracle::net::join_datagrams;
using coracle::net::most_received_segments;
using coracle::net::most_segments;
using coracle::net::received_segments;
using coracle::net::recv_segments;
using coracle::net::send_segments;
using coracle::net::socket;
using coracle_test::service_under_test;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::error_of;

/// Text in which no two pieces are the same.
std::string some_text(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
  text.resize(size);
  return text;
}

TEST_CASE("send_segments: sends datagrams of one size, and a last one that may be shorter") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  sender.bind(any_port);
  const std::string text = some_text(2500);
  io.run([&]() -> task<> {
    CHECK(co_await send_segments(sender, receiver.local_endpoint(), text, 1000) == 2500);
    std::string all;
    for (const std::size_t size : {1000U, 1000U, 500U}) {
      std::array<char, 2000> buffer;
      const auto [got, from] = co_await receiver.recv_from(buffer.data(), buffer.size());
      CHECK(got == size);
      CHECK(from == sender.local_endpoint());
      all.append(buffer.data(), got);
    }
    CHECK(all == text);
  }());
}

TEST_CASE("send_segments: sends to the peer of a connected socket; few bytes are one datagram") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  io.run([&]() -> task<> {
    CHECK(co_await error_of(send_segments(sender, "nowhere", 2)) == std::errc::destination_address_required);
    co_await sender.connect(receiver.local_endpoint());
    CHECK(co_await send_segments(sender, "whole", 5) == 5);
    CHECK(co_await send_segments(sender, "whole", 100'000) == 5);
    CHECK(co_await send_segments(sender, {}, 5) == 0);
    CHECK(co_await send_segments(sender, "xy", 1) == 2);
    std::array<char, 16> buffer;
    for (const std::string_view wanted : {"whole", "whole", "", "x", "y"}) {
      const std::size_t got = co_await receiver.recv(buffer.data(), buffer.size());
      CHECK(std::string_view(buffer.data(), got) == wanted);
    }
  }());
}

TEST_CASE("send_segments: too many datagrams and too many bytes are errors, and nothing is sent") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  const std::string text = some_text(70'400);
  io.run([&]() -> task<> {
    co_await sender.connect(receiver.local_endpoint());
    CHECK(co_await error_of(send_segments(sender, std::string_view{text}.substr(0, most_segments + 1), 1)) ==
          std::errc::invalid_argument);
    CHECK(co_await error_of(send_segments(sender, text, 1100)) == std::errc::message_size);
    CHECK(co_await send_segments(sender, std::string_view{text}.substr(0, most_segments), 1) ==
          most_segments);
    for (std::size_t i = 0; i != most_segments; ++i) {
      char byte = 0;
      CHECK(co_await receiver.recv(&byte, 1) == 1);
      CHECK(byte == text[i]);
    }
  }());
}

TEST_CASE("recv_segments: receives joined datagrams in order, with their size and sender") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  sender.bind(any_port);
  join_datagrams(receiver);
  const std::string text = some_text(20'300);
  io.run([&]() -> task<> {
    std::vector<std::byte> room(most_received_segments);
    std::size_t most_at_once = 0;
    for (int repeated = 0; repeated != 20; ++repeated) {
      CHECK(co_await send_segments(sender, receiver.local_endpoint(), text, 1000) == text.size());
      // Virtual time, in which all of them arrive before the first is received.
      if (here.is_simulated()) co_await coracle::sleep_for(std::chrono::seconds{1});
      std::string all;
      while (all.size() != text.size()) {
        const received_segments got = co_await recv_segments(receiver, room);
        REQUIRE(got.size != 0);
        CHECK(got.from == sender.local_endpoint());
        CHECK(got.segment_size == std::min<std::size_t>(1000, text.size() - all.size()));
        all.append(reinterpret_cast<const char*>(room.data()), got.size);
        most_at_once = std::max(most_at_once, got.size);
      }
      CHECK(all == text);
    }
    CHECK(most_at_once > 1000);
  }());
}

TEST_CASE("recv_segments: without join_datagrams() it receives one datagram; an empty one has no segments") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  io.run([&]() -> task<> {
    CHECK(co_await send_segments(sender, receiver.local_endpoint(), "abcde", 4) == 5);
    co_await sender.send_to(receiver.local_endpoint(), "", 0);
    std::array<std::byte, 100> room;
    for (const std::size_t size : {4U, 1U, 0U}) {
      const received_segments got = co_await recv_segments(receiver, room);
      CHECK(got.size == size);
      CHECK(got.segment_size == size);
    }
  }());
}

TEST_CASE("recv_segments: what is longer than the buffer is an error, and the next datagrams are intact") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  socket other = socket::create_udpv4(io);  // whose datagrams are not joined with those of `sender`
  receiver.bind(any_port);
  join_datagrams(receiver);
  io.run([&]() -> task<> {
    co_await sender.send_to(receiver.local_endpoint(), "too long", 8);
    co_await sender.send_to(receiver.local_endpoint(), "longer still", 12);
    co_await other.send_to(receiver.local_endpoint(), "fits", 4);
    std::array<std::byte, 4> room;
    int errors = 0;
    for (;;) {
      received_segments got{};
      try {
        got = co_await recv_segments(receiver, room);
      } catch (const std::system_error& failure) {
        CHECK(failure.code() == std::errc::message_size);
        ++errors;
        continue;
      }
      CHECK(got.size == 4);
      break;
    }
    CHECK(errors == 2);
  }());
}

TEST_CASE("recv_segments: a stop request ends the wait, and loses nothing") {
  service_under_test here;
  io_service& io = here.io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  stop_source source;
  io.run([&]() -> task<> {
    std::array<std::byte, 16> room;
    const auto give_up = [&]() -> task<> {
      CHECK(co_await coracle_test::is_cancelled(recv_segments(receiver, room, source.get_token())));
    };
    const auto stop = [&]() -> task<> {
      co_await io.schedule();
      source.request_stop();
    };
    co_await coracle::when_all(give_up(), stop());
    CHECK(co_await coracle_test::is_cancelled(
        send_segments(sender, receiver.local_endpoint(), "not sent", 4, source.get_token())));
    CHECK(co_await send_segments(sender, receiver.local_endpoint(), "sent", 4) == 4);
    const received_segments got = co_await recv_segments(receiver, room);
    CHECK(got.size == 4);
  }());
}

TEST_CASE("send_segments: is refused by a TCP socket, which affects no other socket") {
  service_under_test here;
  io_service& io = here.io;
  socket tcp = socket::create_tcpv4(io);
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(any_port);
  io.run([&]() -> task<> {
    bool refused = false;
    try {
      co_await send_segments(tcp, "abcd", 2);
    } catch (const std::system_error&) {
      refused = true;
    }
    CHECK(refused);
    CHECK(co_await send_segments(sender, receiver.local_endpoint(), "abcd", 2) == 4);
  }());
}

TEST_CASE("join_datagrams: is not supported by a TCP socket") {
  service_under_test here;
  socket tcp = socket::create_tcpv4(here.io);
  std::error_code refused;
  try {
    join_datagrams(tcp);
  } catch (const std::system_error& failure) {
    refused = failure.code();
  }
  CHECK(refused == std::errc::operation_not_supported);
}
}  // namespace
