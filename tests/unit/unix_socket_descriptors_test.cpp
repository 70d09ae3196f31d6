// tests/unit/unix_socket_descriptors_test.cpp -- Unix sockets: the descriptors that they pass.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/net/unix_socket.hpp>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/descriptor_limit.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::io_service;
using coracle::make_pipe;
using coracle::operation_cancelled;
using coracle::owned_descriptor;
using coracle::task;
using coracle::net::make_unix_pair;
using coracle::net::unix_kind;
using coracle::net::unix_pair;
using coracle_test::connected_sockets::thrown;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
/// Whether the process has it, and closes it at exec.
bool is_closed_on_exec(int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }
int open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<int>(std::distance(begin(all), end(all)));
}

TEST_CASE("unix_socket: a descriptor that is passed is another for the same pipe, closed on exec") {
  io_service io;
  for (const unix_kind kind : {unix_kind::stream, unix_kind::datagram, unix_kind::seqpacket}) {
    unix_pair ends = make_unix_pair(io, kind);
    auto pipe = make_pipe(io);
    std::array<owned_descriptor, 3> passed;
    std::string room(8, '?');
    const auto use = [&]() -> task<> {
      const std::array<int, 2> both{pipe.read_end.native_handle(), pipe.write_end.native_handle()};
      CHECK(co_await ends.first.send_message(bytes_of("pipe"), both) == 4);
      const auto received = co_await ends.second.recv_message(room, passed);
      CHECK(received.size == 4);
      CHECK(received.descriptors == 2);
      CHECK(is_closed_on_exec(passed[0].get()));
      CHECK_FALSE(passed[2].is_open());
      coracle::stream_descriptor writer{io, std::move(passed[1]).release()};
      co_await writer.write_all("through");
      std::string text(7, '?');
      CHECK(co_await pipe.read_end.read_some(text) == 7);
      CHECK(text == "through");
    };
    io.run(use());
  }
}

TEST_CASE("unix_socket: descriptors that nobody takes are closed, and too many are an error") {
  io_service io;
  const std::vector<int> many(9, STDERR_FILENO);
  for (const std::size_t places : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    unix_pair ends = make_unix_pair(io);
    std::vector<owned_descriptor> passed(places);
    std::string room(8, '?');
    const int before = open_descriptors();
    const auto use = [&]() -> task<> {
      co_await ends.first.send_message(bytes_of("m"), many);
      co_await ends.second.recv_message(room, passed);
    };
    CHECK(thrown([&] { io.run(use()); }) == std::errc::message_size);
    CHECK(room[0] == 'm');
    CHECK(open_descriptors() == before);
    io.run(ends.first.send_message(bytes_of("n"), many));
    CHECK(io.run(ends.second.recv(room)) == 1);
    CHECK(open_descriptors() == before);
  }
  // The system rounds room for one up to room for two, and does not say that one was too many.
  unix_pair ends = make_unix_pair(io);
  std::array<owned_descriptor, 1> one;
  std::string byte(1, '?');
  io.run(ends.first.send_message(bytes_of("m"), std::span{many}.first(2)));
  CHECK(thrown([&] { io.run(ends.second.recv_message(byte, one)); }) == std::errc::message_size);
  CHECK_FALSE(one[0].is_open());
  const std::vector<int> too_many(254, STDERR_FILENO);
  CHECK(thrown([&] { io.run(ends.first.send_message(bytes_of("m"), too_many)); }) ==
        std::errc::invalid_argument);
}

TEST_CASE("unix_socket: of descriptors for which the process has no room none is kept") {
  io_service io;
  unix_pair ends = make_unix_pair(io);
  std::array<owned_descriptor, 3> passed;
  std::string room(8, '?');
  const std::array<int, 3> three{STDERR_FILENO, STDERR_FILENO, STDERR_FILENO};
  io.run(ends.first.send_message(bytes_of("m"), three));
  const coracle_test::descriptor_limit one{1};
  CHECK(thrown([&] { io.run(ends.second.recv_message(room, passed)); }) == std::errc::message_size);
  for (const owned_descriptor& each : passed) CHECK_FALSE(each.is_open());
}

TEST_CASE(
    "unix_socket: bytes behind a message with descriptors are received, though a recv ended before them") {
  io_service io;
  unix_pair ends = make_unix_pair(io);
  const int passed[] = {STDERR_FILENO};
  io.run(ends.first.send_message(bytes_of("one"), passed));
  io.run(ends.first.send("two"));
  io.process_pending_events();  // has reported that they are there
  std::string received, room(8, '?');
  coracle::stop_source stop;
  const auto receive = [&]() -> task<> {
    while (received.size() != 6) received.append(room, 0, co_await ends.second.recv(room, stop.get_token()));
  };
  const auto end = [&]() -> task<> {
    co_await io.schedule();
    stop.request_stop();
  };
  CHECK_NOTHROW(io.run(coracle::when_all(receive(), end())));
  CHECK(received == "onetwo");
}

TEST_CASE(
    "unix_socket: a recv_message() that has a name is awaited again, and has its room for descriptors") {
  io_service io;
  unix_pair ends = make_unix_pair(io, unix_kind::datagram);
  std::array<owned_descriptor, 2> passed;
  std::string room(8, '?');
  const std::array<int, 2> both{STDERR_FILENO, STDERR_FILENO};
  io.run([&]() -> coracle::task<> {
    auto receive = ends.second.recv_message(room, passed);
    for (const std::size_t count : {std::size_t{0}, std::size_t{2}, std::size_t{1}, std::size_t{2}}) {
      co_await ends.first.send_message(bytes_of("m"), std::span{both}.first(count));
      const auto received = co_await receive;
      CHECK(received.descriptors == count);
    }
  }());
}

TEST_CASE("unix_socket: a wait for a message is stopped, and takes neither bytes nor descriptors") {
  io_service io;
  unix_pair ends = make_unix_pair(io);
  std::array<owned_descriptor, 1> passed;
  std::string room(8, '?');
  coracle::stop_source stop;
  const auto wait = [&]() -> task<bool> {
    try {
      co_await ends.second.recv_message(room, passed, stop.get_token());
    } catch (const operation_cancelled&) {
      co_return true;
    }
    co_return false;
  };
  const auto stop_it = [&]() -> task<> {
    co_await io.schedule();
    stop.request_stop();
  };
  CHECK(std::get<0>(io.run(coracle::when_all(wait(), stop_it()))));
  const std::array<int, 1> one{STDERR_FILENO};
  io.run(ends.first.send_message(bytes_of("m"), one));
  const auto received = io.run(ends.second.recv_message(room, passed));
  CHECK(received.size == 1);
  CHECK(received.descriptors == 1);
}
}  // namespace
