// tests/probes/no_exceptions_io.cpp -- I/O in a program compiled with -fno-exceptions.
// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "../support/abort_message.hpp"
#include "../support/expect.hpp"

namespace {
using coracle::as_io_result;
using coracle::io_result;
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using coracle_test::expect;
using namespace std::chrono_literals;

socket listening(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}

/// Echoes until the client has closed its side, or fails.
task<> echo(socket client) {
  std::array<char, 256> buffer;
  for (;;) {
    const auto received = co_await as_io_result(client.recv(buffer.data(), buffer.size()));
    if (!received || *received == 0) break;
    std::string_view text(buffer.data(), *received);
    while (!text.empty()) {
      const auto sent = co_await as_io_result(client.send(text));
      if (!sent) co_return;
      text.remove_prefix(*sent);
    }
  }
}
/// Returns the error that ended it.
task<std::error_code> serve(socket& listener) {
  coracle::async_scope clients;
  for (;;) {
    io_result<socket> client = co_await as_io_result(listener.accept());
    if (!client) {
      co_await coracle::shielded(clients.join());
      co_return client.error();
    }
    clients.spawn(echo(std::move(*client)));
  }
}
task<std::string> ask(io_service& io, coracle::net::ip_endpoint server, std::string_view question) {
  socket connection = socket::create_tcpv4(io);
  const io_result<> connected = co_await as_io_result(connection.connect(server));
  if (!connected) co_return connected.error().message();
  co_await connection.send_all(question);
  std::string answer(question.size(), '\0');
  co_await connection.recv_exactly(answer.data(), answer.size());
  co_return answer;
}

void a_server_is_stopped() {
  io_service io;
  socket listener = listening(io);
  coracle::stop_source source;
  std::error_code ended;
  std::string answer;
  const auto talk = [&]() -> task<> {
    answer = co_await ask(io, listener.local_endpoint(), "hello");
    source.request_stop();
  };
  const auto run = [&]() -> task<> { ended = co_await serve(listener); };
  const auto both = [&]() -> task<> {
    co_await coracle::when_all(coracle::with_stop(run(), source.get_token()), talk());
  };
  io.run(both());
  expect(answer == "hello", "a server echoes");
  expect(ended == std::errc::operation_canceled, "a server sees the stop request as an error");
  const coracle::net::ip_endpoint nobody = listener.local_endpoint();
  listener.close();
  answer = io.run(ask(io, nobody, "hello"));
  expect(answer == "Connection refused", "a refused connection is an error");
}

void losers_of_a_race_end() {
  io_service io;
  socket listener = listening(io);
  const auto race = [&]() -> task<> {
    const auto first = co_await coracle::when_any(listener.accept(), coracle::sleep_for(1ms));
    expect(first.index() == 1, "an operation loses a race");
    const auto second = co_await coracle::when_any(as_io_result(listener.accept()), coracle::sleep_for(1ms));
    expect(second.index() == 1, "an operation in as_io_result() loses a race");
    const auto third = co_await coracle::stop_after(as_io_result(listener.accept()), 1ms);
    expect(third.error() == std::errc::operation_canceled, "an operation is timed out");
    bool went_on = false;
    const auto plain = [&]() -> task<> {
      static_cast<void>(co_await listener.accept());
      went_on = true;
    };
    const auto fourth = co_await coracle::when_any(plain(), io.schedule_after(1ms));
    expect(fourth.index() == 1 && !went_on, "a task that waits for an operation loses a race");
    const auto timed = [&]() -> task<> {
      co_await io.schedule_after(1h);
      went_on = true;
    };
    const auto end = co_await coracle::as_outcome(coracle::stop_after(timed(), 1ms));
    expect(end.is_cancelled() && !went_on, "a task that waits for a timer is timed out");
    coracle::stop_source source;
    source.request_stop();
    auto look_up = coracle::net::resolve("localhost", "80");
    const auto found =
        co_await coracle::as_outcome(coracle::with_stop(std::move(look_up), source.get_token()));
    expect(found.is_cancelled(), "a look-up is stopped");
    const auto call = [&]() -> task<> {
      co_await coracle::blocking([] {});
      went_on = true;
    };
    const auto called = co_await coracle::as_outcome(coracle::with_stop(call(), source.get_token()));
    expect(called.is_cancelled() && !went_on, "a task is stopped before a blocking call");
  };
  io.run(race());
}

void programs_and_files_work() {
  io_service io;
  const auto work = [&]() -> task<> {
    const auto fed = co_await coracle::run_command(io, coracle::command{"cat"}, "text");
    expect(fed.output == "text" && fed.status.is_success(), "run_command() collects output");
    const auto unread =
        co_await coracle::run_command(io, coracle::command{"true"}, std::string(1 << 20, 'x'));
    expect(unread.status.is_success(), "a program need not read its input");
    coracle::process sleeper{io, coracle::command{"sleep", "1000"}};
    const auto ended = co_await sleeper.terminate(10s);
    expect(!ended.is_success(), "terminate() ends a program");
    const auto missing = co_await as_io_result(coracle::filesystem::open_read_only(io, "/no/such/file"));
    expect(missing.error() == std::errc::no_such_file_or_directory, "a file that is missing is an error");
    const std::string status = co_await coracle::filesystem::read_file(io, "/proc/self/status");
    expect(status.starts_with("Name:"), "read_file() reads");
    const auto failed = co_await coracle::as_outcome(coracle::filesystem::read_file(io, "/no/such/file"));
    expect(failed.has_error(), "as_outcome() tells that read_file() has failed");
    auto entries = coracle::filesystem::walk_directory(io, "/no/such/folder");
    const auto first = co_await coracle::as_outcome(entries.next());
    expect(first.has_error(), "as_outcome() tells that walk_directory() has failed");
    const auto second = co_await coracle::as_outcome(entries.next());
    expect(second.has_value(), "a walk that has failed has ended");
    coracle::stop_source stopped;
    stopped.request_stop(coracle::stop_reason::shutting_down);
    const auto walk = [&]() -> task<> {
      auto others = coracle::filesystem::walk_directory(io, "/");
      const auto end = co_await coracle::as_outcome(others.next());
      expect(end.reason() == coracle::stop_reason::shutting_down,
             "as_outcome() tells why a walk was stopped");
    };
    co_await coracle::with_stop(walk(), stopped.get_token());
  };
  io.run(work());
}

void a_result_that_is_missing_ends_the_program() {
  const std::string last_words = coracle_test::abort_message([] {
    io_service io;
    const auto sleep = [&]() -> task<> {
      static_cast<void>(co_await coracle::when_all(coracle::stop_after(coracle::sleep_for(1h), 1ms)));
    };
    io.run(sleep());
  });
  expect(last_words.find("put as_outcome() around it") != std::string::npos,
         "the program's last words name the remedy");
}
void an_error_that_nobody_takes_ends_the_program() {
  const std::string last_words = coracle_test::abort_message([] {
    io_service io;
    const auto open = [&]() -> task<> {
      static_cast<void>(co_await coracle::filesystem::read_file(io, "/no/such/file"));
    };
    io.run(open());
  });
  expect(
      last_words.find("(cannot open /no/such/file: No such file or directory): put as_outcome() around it") !=
          std::string::npos,
      "the program's last words name the error, the file and the remedy");
}
/// The library, which is compiled with exceptions, throws none out of a combinator or a scope either.
template <class Combine>
void an_error_of_a_child_ends_the_program(Combine) {
  const std::string last_words = coracle_test::abort_message([] {
    io_service io;
    const auto open = [&] { return coracle::filesystem::read_file(io, "/no/such/file"); };
    const auto all = [&]() -> task<> { co_await Combine()(open); };
    io.run(all());
  });
  expect(
      last_words.find("(cannot open /no/such/file: No such file or directory): put as_outcome() around it") !=
          std::string::npos,
      "the program's last words name the error of the child, the file and the remedy");
}
void errors_of_children_end_the_program() {
  an_error_of_a_child_ends_the_program([](const auto& open) -> task<> {
    static_cast<void>(co_await coracle::when_any(open(), coracle::sleep_for(1h)));
  });
  an_error_of_a_child_ends_the_program([](const auto& open) -> task<> {
    static_cast<void>(co_await coracle::when_all(open(), coracle::sleep_for(1h)));
  });
  an_error_of_a_child_ends_the_program([](const auto& open) -> task<> {
    const auto body = [&](coracle::async_scope& scope) -> task<> {
      scope.spawn([&]() -> task<> { static_cast<void>(co_await open()); });
      co_return;
    };
    co_await coracle::with_scope(body);
  });
}
}  // namespace

int main() {
  expect(!CORACLE_EXCEPTIONS(), "the program is compiled with -fno-exceptions");
  a_server_is_stopped();
  losers_of_a_race_end();
  programs_and_files_work();
  a_result_that_is_missing_ends_the_program();
  an_error_that_nobody_takes_ends_the_program();
  errors_of_children_end_the_program();
  return coracle_test::exit_status("a program without exceptions does its I/O");
}
