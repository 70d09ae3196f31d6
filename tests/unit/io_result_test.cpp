// tests/unit/io_result_test.cpp -- errors of I/O operations as values.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/whole_file.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/sleep.hpp>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <variant>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "connected_sockets.hpp"

namespace {
using coracle::as_io_result;
using coracle::error_code_of;
using coracle::io_result;
using coracle::io_service;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::socket;
using coracle_test::connected_sockets::any_port;
using coracle_test::connected_sockets::connected;
using coracle_test::connected_sockets::listening;
using coracle_test::connected_sockets::pair;
using coracle_test::connected_sockets::receive_all;
using coracle_test::connected_sockets::receive_some;
using coracle_test::connected_sockets::send_all;
namespace fs = coracle::filesystem;
using size_result = io_result<std::size_t>;

TEST_CASE("as_io_result: gives what the operation gives") {
  io_service io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    const size_result sent = co_await as_io_result(ends.client.send("four"));
    CHECK(sent.value() == 4);
    std::array<char, 8> buffer;
    const size_result received = co_await as_io_result(ends.server.recv(buffer.data(), buffer.size()));
    CHECK(received.value() == 4);
    co_await send_all(ends.client, "more");
    const std::string more = co_await receive_some(ends.server);
    CHECK(more == "more");
    coracle::net::socket listener = listening(io);
    coracle::net::socket client = coracle::net::socket::create_tcpv4(io);
    const io_result<> connected = co_await as_io_result(client.connect(listener.local_endpoint()));
    CHECK(connected.has_value());
    io_result<coracle::net::socket> accepted = co_await as_io_result(listener.accept());
    CHECK(accepted.value().native_handle() >= 0);
  }());
}

TEST_CASE("as_io_result: gives an error of the system, and throws nothing") {
  io_service io;
  coracle::net::socket listener = listening(io);
  const ip_endpoint nobody = listener.local_endpoint();
  listener.close();
  io.run([&]() -> task<> {
    coracle::net::socket client = coracle::net::socket::create_tcpv4(io);
    const io_result<> connected = co_await as_io_result(client.connect(nobody));
    CHECK(connected.error() == std::errc::connection_refused);
    const auto opened = co_await as_io_result(fs::open_read_only(io, "/no/such/file"));
    CHECK(opened.error() == std::errc::no_such_file_or_directory);
    const auto removed = co_await as_io_result(fs::remove(io, std::string("a\0b", 3)));
    CHECK(removed.error() == std::errc::invalid_argument);
  }());
}

TEST_CASE("as_io_result: gives errors that the library finds") {
  io_service io;
  coracle_test::temporary_folder folder;
  io.run([&]() -> task<> {
    const auto opened = co_await as_io_result(fs::open_read_only(io, folder.path()));
    CHECK(opened.error() == std::errc::is_a_directory);
    const auto missing = co_await as_io_result(fs::exists(io, "/no/such/file"));
    CHECK_FALSE(missing.value());
    const auto present = co_await as_io_result(fs::exists(io, folder.path()));
    CHECK(present.value());

    coracle::net::socket to = coracle::net::socket::create_udpv4(io), from = socket::create_udpv4(io);
    to.bind(any_port);
    char one;
    for (const bool with_address : {false, true}) {
      co_await from.send_to(to.local_endpoint(), "long", 4);
      std::error_code failed;
      if (with_address) {
        const auto received = co_await as_io_result(to.recv_from(&one, 1));
        failed = received.error();
      } else {
        const size_result received = co_await as_io_result(to.recv(&one, 1));
        failed = received.error();
      }
      CHECK(failed == std::errc::message_size);
    }
    co_await from.send_to(to.local_endpoint(), "long", 4);
    const auto segments = co_await as_io_result(coracle::net::recv_segments(to, {&one, 1}));
    CHECK(segments.error() == std::errc::message_size);
  }());
}

TEST_CASE("as_io_result: a file that was opened is open, and a message that was cut leaks no descriptor") {
  io_service io;
  coracle_test::temporary_folder folder;
  io.run([&]() -> task<> {
    const auto path = std::filesystem::path(folder.path()) / "file";
    auto made = co_await as_io_result(fs::open_write_only(io, path, coracle::file_open_mode::create_new));
    CHECK(made.value().size() == 0);

    auto ends = coracle::net::make_unix_pair(io, coracle::net::unix_kind::datagram);
    const std::array<std::byte, 2> bytes{};
    const int passed = STDERR_FILENO;
    co_await ends.first.send_message(bytes, {&passed, 1});
    std::array<coracle::owned_descriptor, 1> descriptors;
    std::array<std::byte, 1> small;
    const auto received = co_await as_io_result(ends.second.recv_message(small, descriptors));
    CHECK(received.error() == std::errc::message_size);
    CHECK_FALSE(descriptors[0].is_open());
  }());
}

TEST_CASE("as_io_result: a process whose status is lost") {
  io_service io;
  coracle::process child{io, coracle::command{"true"}};
  io.run([&]() -> task<> {
    const auto ended = co_await as_io_result(child.wait());
    CHECK(ended.value().is_success());
  }());
  const auto ignored = std::signal(SIGCHLD, SIG_IGN);
  {
    coracle::process lost{io, coracle::command{"true"}};
    io.run([&]() -> task<> {
      const auto ended = co_await as_io_result(lost.wait());
      CHECK(ended.error() == std::errc::no_child_process);
    }());
  }
  std::signal(SIGCHLD, ignored);
}

TEST_CASE("as_io_result: a stop request is std::errc::operation_canceled, before and during the wait") {
  io_service io;
  pair ends = connected(io);
  stop_source source;
  std::error_code during, after;
  io.run([&]() -> task<> {
    const auto receive = [&]() -> task<> {
      char one;
      const size_result first = co_await as_io_result(ends.server.recv(&one, 1));
      during = first.error();
      const size_result second = co_await as_io_result(ends.server.recv(&one, 1));
      after = second.error();
    };
    const auto request = [&]() -> task<> {
      source.request_stop();
      co_return;
    };
    co_await coracle::when_all(coracle::with_stop(receive(), source.get_token()), request());
  }());
  CHECK(during == std::errc::operation_canceled);
  CHECK(after == std::errc::operation_canceled);
}

TEST_CASE("as_io_result: of two receives in a when_any(), one is carried out") {
  io_service io;
  pair ends = connected(io);
  io.run([&]() -> task<> {
    std::array<char, 2> first, second;
    const auto send = [&]() -> task<> {
      co_await io.schedule();
      co_await send_all(ends.client, "ab");
    };
    const auto race = [&]() -> task<> {
      const auto won = co_await coracle::when_any(as_io_result(ends.server.recv(first.data(), 1)),
                                                  as_io_result(ends.server.recv(second.data(), 1)));
      CHECK(std::visit([](const size_result& received) { return received.value(); }, won) == 1);
    };
    co_await coracle::when_all(race(), send());
    ends.client.close_send();
    const std::string rest = co_await receive_all(ends.server);
    CHECK(rest == "b");
  }());
}

TEST_CASE("as_io_result: gives the end of other work") {
  io_service io;
  coracle::async_manual_reset_event waits;
  const auto wait = [&]() -> task<int> {
    waits.set();
    co_await coracle::sleep_for(std::chrono::hours(1));
    co_return 1;
  };
  const auto fail = []() -> task<> {
    throw std::logic_error("has no code");
    co_return;
  };
  int number = 3;
  const auto refer = [&]() -> task<int&> { co_return number; };
  const auto nothing = []() -> task<> { co_return; };
  bool goes_on = false;
  const auto work = [&]() -> task<> {
    const io_result<std::reference_wrapper<int>> referred = co_await as_io_result(refer());
    CHECK(&referred.value().get() == &number);
    const io_result<> done = co_await as_io_result(nothing);
    CHECK(done.has_value());
    const io_result<std::string> read = co_await as_io_result(fs::read_file(io, "/no/such/file"));
    CHECK(read.error() == std::errc::no_such_file_or_directory);
    std::string what;
    try {
      static_cast<void>(co_await as_io_result(fail()));
    } catch (const std::logic_error& error) {
      what = error.what();
    }
    CHECK(what == "has no code");
    const io_result<int> stopped = co_await as_io_result(wait());
    CHECK(stopped.error() == std::errc::operation_canceled);
    goes_on = true;
  };
  stop_source source;
  const auto request = [&]() -> task<> {
    co_await waits;
    source.request_stop();
  };
  io.run(coracle::when_all(coracle::with_stop(work(), source.get_token()), request()));
  CHECK(goes_on);
}

TEST_CASE("error_code_of: the code of a system_error, and of a group of nothing else") {
  const auto system = [](std::errc code) {
    return std::make_exception_ptr(std::system_error(std::make_error_code(code)));
  };
  const auto group = [](std::vector<std::exception_ptr> errors) {
    return std::make_exception_ptr(coracle::error_group(std::move(errors)));
  };
  const std::exception_ptr reset = system(std::errc::connection_reset),
                           full = system(std::errc::no_space_on_device);
  const std::exception_ptr other = std::make_exception_ptr(std::logic_error("has no code"));
  CHECK(!error_code_of(nullptr));
  CHECK(!error_code_of(other));
  CHECK(!error_code_of(std::make_exception_ptr(1)));
  CHECK(error_code_of(reset) == std::errc::connection_reset);
  CHECK(error_code_of(group({full, reset})) == std::errc::no_space_on_device);
  CHECK(error_code_of(group({group({reset, full}), full})) == std::errc::connection_reset);
  CHECK(!error_code_of(group({reset, other})));
}
}  // namespace
