// tests/unit/send_file_test.cpp -- files over connections, of the system and of a simulated host.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <coracle/compose/when_all.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/net/send_file.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <string>

#include "../support/temporary_folder.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::io_service;
using coracle::operation_cancelled;
using coracle::read_only_file;
using coracle::stop_source;
using coracle::task;
using coracle::net::send_file;
using coracle::net::socket;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::error_of;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_all;

struct linux_files {
  coracle_test::temporary_folder folder;
  io_service io;
  auto file(std::string_view text) {
    coracle_test::write_text(folder / "file", text);
    return read_only_file::open(io, folder / "file");
  }
};
struct simulated_files {
  coracle::testing::simulation sim{1};
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  io_service& io = host.io();
  auto file(std::string_view text) {
    host.disk().put("file", text);
    return read_only_file::open(io, "file");
  }
};

/// Text whose every part differs from the others.
std::string numbered(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text.append(std::to_string(i)).append(100, ' ');
  text.resize(size);
  return text;
}

TEST_CASE_TEMPLATE("send_file: sends a part of a file, as far as the file goes", World, linux_files,
                   simulated_files) {
  World here;
  const std::string text = numbered(3 << 20);
  const auto file = here.file(text);
  struct part {
    std::uint64_t offset, size, sent;
  };
  const std::uint64_t all = text.size();
  constexpr std::uint64_t most = ~std::uint64_t{0}, longest = most / 2;  // no file is longer
  for (const part each : {part{0, all, all}, part{0, 0, 0}, part{5, 1, 1}, part{4095, 2 << 20, 2 << 20},
                          part{all - 10, 100, 10}, part{all, 1, 0}, part{all + 5, 1, 0},
                          part{7, 2 * all, all - 7}, part{7, most, all - 7}, part{longest / 2, 9, 0},
                          part{longest - 5, 9, 0}, part{longest, 9, 0}, part{most, 9, 0}}) {
    pair ends = connected(here.io);
    std::string received;
    const auto send = [&]() -> task<> {
      const std::uint64_t sent = co_await send_file(ends.client, file, each.offset, each.size);
      CHECK(sent == each.sent);
      ends.client.close_send();
    };
    const auto receive = [&]() -> task<> { received = co_await receive_all(ends.server); };
    here.io.run(coracle::when_all(send(), receive()));
    CHECK(received == text.substr(std::min(each.offset, all), each.sent));
  }
}

TEST_CASE_TEMPLATE("send_file: stopped half way, it says how far it came, and continues from there", World,
                   linux_files, simulated_files) {
  World here;
  const std::string text = numbered(16 << 20);
  const auto file = here.file(text);
  pair ends = connected(here.io);
  stop_source source;
  std::uint64_t sent = 0;
  std::string received;
  const auto send = [&]() -> task<> {
    bool cancelled = false;
    try {
      co_await send_file(ends.client, file, 0, text.size(), source.get_token(), &sent);
    } catch (const operation_cancelled&) {
      cancelled = true;
    }
    CHECK(cancelled);
    CHECK(sent < text.size());
    const std::uint64_t in_all = co_await send_file(ends.client, file, 0, text.size(), {}, &sent);
    CHECK(in_all == text.size());
    ends.client.close_send();
  };
  const auto stop_then_receive = [&]() -> task<> {
    co_await here.io.schedule();
    source.request_stop();
    received = co_await receive_all(ends.server);
  };
  here.io.run(coracle::when_all(send(), stop_then_receive()));
  CHECK(received == text);
}

TEST_CASE_TEMPLATE("send_file: the peer is gone: an error, not a SIGPIPE", World, linux_files,
                   simulated_files) {
  World here;
  const auto file = here.file(numbered(1000));
  pair ends = connected(here.io);
  ends.server.close();
  std::error_code error;
  here.io.run([&]() -> task<> {
    while (!error) error = co_await error_of(send_file(ends.client, file, 0, 1000));
  }());
  CHECK((error == std::errc::broken_pipe || error == std::errc::connection_reset));
}

TEST_CASE_TEMPLATE("send_file: on a socket that is not connected it is an error", World, linux_files,
                   simulated_files) {
  World here;
  const auto file = here.file("text");
  socket fresh = socket::create_tcpv4(here.io);
  std::error_code error;
  here.io.run([&]() -> task<> { error = co_await error_of(send_file(fresh, file, 0, 4)); }());
  CHECK(error == std::errc::broken_pipe);
}

TEST_CASE("send_file: a program's own pending SIGPIPE stays pending") {
  linux_files here;
  const auto file = here.file("text");
  socket fresh = socket::create_tcpv4(here.io);
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  raise(SIGPIPE);
  std::error_code error;
  here.io.run([&]() -> task<> { error = co_await error_of(send_file(fresh, file, 0, 4)); }());
  CHECK(error == std::errc::broken_pipe);
  int number = 0;
  sigset_t pending;
  sigpending(&pending);
  CHECK(sigismember(&pending, SIGPIPE) == 1);
  CHECK(sigwait(&pipe, &number) == 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("send_file: over a Unix socket") {
  linux_files here;
  const std::string text = numbered(1 << 20);
  const auto file = here.file(text);
  auto [one, other] = coracle::net::make_unix_pair(here.io, coracle::net::unix_kind::stream);
  std::string received(text.size(), '\0');
  const auto receive = [&, &from = other]() -> task<> {
    for (std::size_t got = 0; got != received.size();) {
      const auto room = std::as_writable_bytes(std::span{received}).subspan(got);
      const std::size_t more = co_await from.recv(room);
      got += more;
    }
  };
  const auto send = [&, &to = one]() -> task<> {
    const std::uint64_t sent = co_await send_file(to, file, 0, text.size());
    CHECK(sent == text.size());
  };
  here.io.run(coracle::when_all(send(), receive()));
  CHECK(received == text);
}

TEST_CASE("send_file: a simulated device that fails, and a host that loses its power") {
  simulated_files here;
  const auto file = here.file(numbered(100));
  pair ends = connected(here.io);
  coracle::testing::disk_faults faults;
  faults.read_errors = 1;
  here.host.disk().set_faults(faults);
  std::error_code error;
  here.io.run([&]() -> task<> { error = co_await error_of(send_file(ends.client, file, 0, 100)); }());
  CHECK(error == std::errc::io_error);
  here.host.disk().set_faults({});
  here.host.crash();
  here.io.run([&]() -> task<> { error = co_await error_of(send_file(ends.client, file, 0, 100)); }());
  CHECK(error == std::errc::io_error);
}
}  // namespace
