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

namespace {
using coracle::as_io_result;
using coracle::io_result;
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using namespace std::chrono_literals;

bool all_pass = true;
void check(const char* what, bool holds) {
  if (holds) return;
  std::printf("FAILED: %s\n", what);
  all_pass = false;
}
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
  check("a server echoes", answer == "hello");
  check("a server sees the stop request as an error", ended == std::errc::operation_canceled);
  const coracle::net::ip_endpoint nobody = listener.local_endpoint();
  listener.close();
  answer = io.run(ask(io, nobody, "hello"));
  check("a refused connection is an error", answer == "Connection refused");
}

void losers_of_a_race_end() {
  io_service io;
  socket listener = listening(io);
  const auto race = [&]() -> task<> {
    const auto first = co_await coracle::when_any(listener.accept(), coracle::sleep_for(1ms));
    check("an operation loses a race", first.index() == 1);
    const auto second = co_await coracle::when_any(as_io_result(listener.accept()), coracle::sleep_for(1ms));
    check("an operation in as_io_result() loses a race", second.index() == 1);
    const auto third = co_await coracle::stop_after(as_io_result(listener.accept()), 1ms);
    check("an operation is timed out", third.error() == std::errc::operation_canceled);
  };
  io.run(race());
}

void programs_and_files_work() {
  io_service io;
  const auto work = [&]() -> task<> {
    const auto fed = co_await coracle::run_command(io, coracle::command{"cat"}, "text");
    check("run_command() collects output", fed.output == "text" && fed.status.is_success());
    const auto unread =
        co_await coracle::run_command(io, coracle::command{"true"}, std::string(1 << 20, 'x'));
    check("a program need not read its input", unread.status.is_success());
    coracle::process sleeper{io, coracle::command{"sleep", "1000"}};
    const auto ended = co_await sleeper.terminate(10s);
    check("terminate() ends a program", !ended.is_success());
    const auto missing = co_await as_io_result(coracle::filesystem::open_read_only(io, "/no/such/file"));
    check("a file that is missing is an error", missing.error() == std::errc::no_such_file_or_directory);
    const std::string status = co_await coracle::filesystem::read_file(io, "/proc/self/status");
    check("read_file() reads", status.starts_with("Name:"));
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
  check("the program's last words name the remedy",
        last_words.find("put as_outcome() around it") != std::string::npos);
}
void an_error_that_nobody_takes_ends_the_program() {
  const std::string last_words = coracle_test::abort_message([] {
    io_service io;
    const auto open = [&]() -> task<> {
      static_cast<void>(co_await coracle::filesystem::read_file(io, "/no/such/file"));
    };
    io.run(open());
  });
  check("the program's last words name the error and the file",
        last_words.find("cannot open /no/such/file: No such file or directory") != std::string::npos);
}
}  // namespace

int main() {
  check("the program is compiled with -fno-exceptions", !CORACLE_EXCEPTIONS());
  a_server_is_stopped();
  losers_of_a_race_end();
  programs_and_files_work();
  a_result_that_is_missing_ends_the_program();
  an_error_that_nobody_takes_ends_the_program();
  if (all_pass) std::puts("a program without exceptions does its I/O");
  return all_pass ? 0 : 1;
}
