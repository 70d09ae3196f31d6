// tests/unit/io_operation_test.cpp -- one operation over the seam: when it waits, where it resumes, its end.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_operation.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/testing/allocations.hpp>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"
#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"

namespace {
using coracle::io_service;
using coracle::stop_source;
using coracle::stop_token;
using coracle::task;
using coracle_test::detached;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::note;
using coracle_test::outcome;
using coracle_test::pipe_ends;
using coracle_test::raw_operation;
using coracle_test::receive;
using coracle_test::send;
using coracle_test::socket_pair;
using coracle_test::test_coroutine;

test_coroutine received(const io_descriptor& from, outcome& seen, stop_token token = {}) {
  co_await note(receive(from, seen.buffer, sizeof seen.buffer, std::move(token)), seen);
}
/// Sends what the socket can take at once.
void send_now(const io_descriptor& to, const char* text) {
  const auto size = std::strlen(text);
  REQUIRE(::send(to.native_handle(), text, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

// ---- ready, suspends, order ---------------------------------------------------------------------------

TEST_CASE("io_operation: what the system can do at once does not suspend") {
  io_service io;
  const socket_pair pair{io};
  send_now(pair.first, "hello");
  outcome seen;
  auto waiting = received(pair.second, seen);
  waiting.resume();
  CHECK(waiting.done());
  CHECK(seen.text() == "hello");
  CHECK(io.process_pending_events() == 0);
}

TEST_CASE("io_operation: suspends until the system is ready, and counts as one event") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  auto waiting = received(pair.second, seen);
  waiting.resume();
  CHECK_FALSE(waiting.done());
  CHECK(io.process_pending_events() == 0);
  send_now(pair.first, "hello");
  CHECK_FALSE(waiting.done());
  CHECK(io.process_pending_events() == 1);
  CHECK(waiting.done());
  CHECK(seen.text() == "hello");
}

TEST_CASE("io_operation: each edge is seen, whatever was there before") {
  io_service io;
  const socket_pair pair{io};
  for (int i = 0; i != 10; ++i) {
    outcome seen;
    auto waiting = received(pair.second, seen);
    waiting.resume();
    send_now(pair.first, "a");
    if (i % 2) send_now(pair.first, "b");
    CHECK(io.process_one_event() == 1);
    CHECK(waiting.done());
    CHECK(seen.text() == (i % 2 ? "ab" : "a"));
  }
}

TEST_CASE("io_operation: those that wait to read one descriptor go first come, first served") {
  io_service io;
  const socket_pair pair{io, SOCK_DGRAM};
  outcome seen[3];
  std::vector<test_coroutine> waiting;
  for (outcome& each : seen) waiting.push_back(received(pair.second, each));
  for (test_coroutine& each : waiting) each.resume();
  send_now(pair.first, "1");
  send_now(pair.first, "2");
  CHECK(io.process_pending_events() == 2);
  CHECK(seen[0].text() == "1");
  CHECK(seen[1].text() == "2");
  CHECK_FALSE(seen[2].over);

  outcome late;
  auto latecomer = received(pair.second, late);
  send_now(pair.first, "3");
  latecomer.resume();  // the datagram is there, but not for this one
  CHECK_FALSE(late.over);
  send_now(pair.first, "4");
  CHECK(io.process_pending_events() == 2);
  CHECK(seen[2].text() == "3");
  CHECK(late.text() == "4");
}

TEST_CASE("io_operation: one coroutine reads and another writes the same descriptor") {
  io_service io;
  const socket_pair pair{io};
  const std::string much(1 << 20, 'x');
  std::size_t sent = 0, drained = 0;
  outcome seen;
  auto reading = received(pair.first, seen);
  reading.resume();
  const auto write_all = [&]() -> test_coroutine {
    while (sent != much.size()) {
      const auto n = co_await send(pair.first, much.data() + sent, much.size() - sent);
      sent += static_cast<std::size_t>(n);
    }
  };
  auto writing = write_all();
  writing.resume();
  CHECK_FALSE(writing.done());
  CHECK(sent < much.size());
  CHECK_FALSE(seen.over);
  std::vector<char> buffer(much.size());
  while (drained != much.size()) {
    const ssize_t n = ::recv(pair.second.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) drained += static_cast<std::size_t>(n);
    io.process_pending_events();
  }
  CHECK(writing.done());
  CHECK_FALSE(seen.over);
  send_now(pair.second, "back");
  CHECK(io.process_one_event() == 1);
  CHECK(seen.text() == "back");
}

TEST_CASE("io_operation: may be moved until it is awaited") {
  io_service io;
  const socket_pair pair{io};
  send_now(pair.first, "ab");
  char first = 0, second = 0;
  const auto [n, m] = coracle::sync_wait(
      coracle::when_all(receive(pair.second, &first, 1), receive(pair.second, &second, 1)));
  CHECK(n + m == 2);
  CHECK(first == 'a');
  CHECK(second == 'b');
}

// ---- where it resumes ---------------------------------------------------------------------------------

TEST_CASE("io_operation: outside any executor it resumes on the thread that processes events, outside any") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  std::thread::id resumed_on;
  const auto wait = [&]() -> test_coroutine {
    co_await note(receive(pair.second, seen.buffer, 1), seen);
    resumed_on = std::this_thread::get_id();
  };
  auto waiting = wait();
  std::thread{[&] { waiting.resume(); }}.join();
  send_now(pair.first, "x");
  CHECK(io.process_one_event() == 1);
  CHECK(seen.over);
  CHECK(seen.where == nullptr);
  CHECK(resumed_on == std::this_thread::get_id());
}

TEST_CASE("io_operation: on the io_service it resumes there, in one event") {
  io_service io;
  const socket_pair pair{io};
  outcome seen;
  const auto wait = [&]() -> test_coroutine {
    co_await io.schedule();
    co_await note(receive(pair.second, seen.buffer, 1), seen);
  };
  auto waiting = wait();
  waiting.resume();
  CHECK(io.process_pending_events() == 1);
  send_now(pair.first, "x");
  CHECK(io.process_pending_events() == 1);
  CHECK(seen.where == &io);
}

TEST_CASE("io_operation: on another executor it is posted there") {
  io_service io;
  coracle::run_loop loop;
  const socket_pair pair{io};
  outcome seen;
  const auto wait = [&]() -> test_coroutine {
    co_await loop.schedule();
    co_await note(receive(pair.second, seen.buffer, 1), seen);
  };
  auto waiting = wait();
  waiting.resume();
  CHECK(loop.run_one());
  send_now(pair.first, "x");
  CHECK(io.process_pending_events() == 1);
  CHECK_FALSE(seen.over);
  CHECK(loop.run_one());
  CHECK(seen.where == &loop);
}

TEST_CASE("io_operation: on a thread pool it comes back to the pool") {
  io_service io;
  coracle::static_thread_pool pool{2};
  const socket_pair pair{io};
  outcome seen;
  std::thread runner{[&] { io.process_events(); }};
  const auto wait = [&]() -> task<> {
    co_await pool.schedule();
    co_await note(receive(pair.second, seen.buffer, 1), seen);
  };
  const auto feed = [&]() -> task<> {
    co_await io.schedule();
    co_await send(pair.first, "x", 1);
  };
  coracle::sync_wait(coracle::when_all(wait(), feed()));
  io.stop();
  runner.join();
  CHECK(seen.where == &pool);
}

TEST_CASE("io_operation: one that never has to wait lets the others of its loop have their turn") {
  io_service io;
  const socket_pair pair{io};
  int writes = 0, writes_before_other = -1;
  const auto hog = [&]() -> test_coroutine {
    co_await io.schedule();
    for (; writes != 400; ++writes) co_await raw_operation(pair.first, io_opcode::wait_writable, &writes, 0);
  };
  const auto other = [&]() -> test_coroutine {
    co_await io.schedule();
    writes_before_other = writes;
  };
  auto first = hog(), second = other();
  first.resume();
  second.resume();
  io.process_pending_events();
  CHECK(first.done());
  CHECK(writes_before_other > 0);
  CHECK(writes_before_other <= 256);
}

TEST_CASE("io_operation: outside any executor, too, one that never has to wait suspends now and then") {
  io_service io;
  const socket_pair pair{io};
  int writes = 0;
  const auto hog = [&]() -> test_coroutine {
    for (; writes != 400; ++writes) co_await raw_operation(pair.first, io_opcode::wait_writable, &writes, 0);
  };
  auto hogging = hog();
  hogging.resume();
  CHECK_FALSE(hogging.done());
  CHECK(io.process_pending_events() > 0);
  CHECK(hogging.done());
}

// ---- errors -------------------------------------------------------------------------------------------

TEST_CASE("io_operation: the end of the stream is a result of 0, a broken one an error, and no SIGPIPE") {
  io_service io;
  socket_pair pair{io};
  outcome at_end, broken;
  auto waiting = received(pair.second, at_end);
  waiting.resume();
  pair.first.close();
  CHECK(io.process_one_event() == 1);
  CHECK(at_end.result == 0);
  coracle::sync_wait(note(send(pair.second, "x", 1), broken));
  CHECK(broken.error == EPIPE);
}

TEST_CASE("io_operation: who waits at one end of a pipe learns that the other end was closed") {
  std::signal(SIGPIPE, SIG_IGN);
  io_service io;
  outcome at_end, broken;
  {
    pipe_ends pipe{io, io_descriptor_kind::pollable};
    const auto read_it = [&]() -> test_coroutine {
      co_await note(raw_operation(pipe.read, io_opcode::read, at_end.buffer, 1), at_end);
    };
    auto reading = read_it();
    reading.resume();
    pipe.write.close();
    CHECK(io.process_one_event() == 1);
  }
  CHECK(at_end.result == 0);
  pipe_ends pipe{io, io_descriptor_kind::pollable};
  const std::string much(1 << 20, 'x');
  const auto write_twice = [&]() -> test_coroutine {
    co_await raw_operation(pipe.write, io_opcode::write, much.data(), much.size());
    co_await note(raw_operation(pipe.write, io_opcode::write, much.data(), much.size()), broken);
  };
  auto writing = write_twice();
  writing.resume();
  CHECK_FALSE(broken.over);
  pipe.read.close();
  CHECK(io.process_one_event() == 1);
  CHECK(broken.error == EPIPE);
  std::signal(SIGPIPE, SIG_DFL);
}

TEST_CASE("io_operation: an error says what was being done") {
  io_service io;
  const socket_pair pair{io};
  try {
    coracle::sync_wait(raw_operation(pair.first, io_opcode::accept, &io, 0));
    FAIL("accept() of a socket that does not listen");
  } catch (const std::system_error& e) {
    CHECK(e.code() == std::errc::invalid_argument);
    CHECK(std::string(e.what()).find("do what the test wants") == 0);
  }
}

TEST_CASE("io_operation: what cannot be polled is refused, and its descriptor closed") {
  io_service io;
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  CHECK_THROWS_AS(io_descriptor(io, file, io_descriptor_kind::pollable), std::system_error);
  CHECK(::fcntl(file, F_GETFD) == -1);
}

// ---- stop ---------------------------------------------------------------------------------------------

TEST_CASE("io_operation: stop requested before: cancelled, without suspending, and nothing is read") {
  io_service io;
  const socket_pair pair{io};
  send_now(pair.first, "hello");
  stop_source source;
  source.request_stop();
  outcome seen, later;
  auto waiting = received(pair.second, seen, source.get_token());
  waiting.resume();
  CHECK(waiting.done());
  CHECK(seen.cancelled);
  coracle::sync_wait(note(receive(pair.second, later.buffer, 5), later));
  CHECK(later.text() == "hello");
}

TEST_CASE("io_operation: stop requested during: the loop ends it, not request_stop()") {
  io_service io;
  const socket_pair pair{io};
  stop_source source;
  outcome seen;
  auto waiting = received(pair.second, seen, source.get_token());
  waiting.resume();
  source.request_stop();
  CHECK_FALSE(seen.over);
  CHECK(io.process_pending_events() == 1);
  CHECK(seen.cancelled);
  send_now(pair.first, "for the next");
  outcome next;
  coracle::sync_wait(note(receive(pair.second, next.buffer, 12), next));
  CHECK(next.text() == "for the next");
}

TEST_CASE("io_operation: stop requested after: no effect") {
  io_service io;
  const socket_pair pair{io};
  stop_source source;
  outcome seen;
  send_now(pair.first, "x");
  coracle::sync_wait(note(receive(pair.second, seen.buffer, 1, source.get_token()), seen));
  source.request_stop();
  CHECK(io.process_pending_events() == 0);
  CHECK(seen.text() == "x");
}

TEST_CASE("io_operation: what was read when stop was requested is delivered") {
  io_service io;
  const socket_pair one{io}, two{io};
  stop_source source;
  outcome first, second;
  // Both are finished by the same look at the system; whichever is delivered first stops the other.
  const auto wait = [&](const io_descriptor& from, outcome& seen) -> test_coroutine {
    co_await note(receive(from, seen.buffer, 1, source.get_token()), seen);
    source.request_stop();
  };
  auto a = wait(one.second, first), b = wait(two.second, second);
  a.resume();
  b.resume();
  send_now(one.first, "1");
  send_now(two.first, "2");
  CHECK(io.process_pending_events() == 2);
  CHECK(first.text() == "1");
  CHECK(second.text() == "2");
}

TEST_CASE("io_operation: stopping one in the middle of the queue leaves its neighbours alone") {
  io_service io;
  const socket_pair pair{io, SOCK_DGRAM};
  for (std::size_t stopped = 0; stopped != 3; ++stopped) {
    CAPTURE(stopped);
    stop_source sources[3];
    outcome seen[3];
    std::vector<test_coroutine> waiting;
    for (std::size_t i = 0; i != 3; ++i) {
      waiting.push_back(received(pair.second, seen[i], sources[i].get_token()));
      waiting[i].resume();
    }
    sources[stopped].request_stop();
    CHECK(io.process_pending_events() == 1);
    CHECK(seen[stopped].cancelled);
    send_now(pair.first, "1");
    send_now(pair.first, "2");
    CHECK(io.process_pending_events() == 2);
    CHECK(seen[stopped == 0 ? 1 : 0].text() == "1");
    CHECK(seen[stopped == 2 ? 1 : 2].text() == "2");
  }
}

TEST_CASE("io_operation: takes the inherited token where none is given") {
  io_service io;
  const socket_pair pair{io};
  stop_source inherited, given;
  outcome with_none, with_one;
  const auto start = [&](raw_operation operation, outcome& seen) -> test_coroutine {
    co_await coracle::with_stop(note(std::move(operation), seen), inherited.get_token());
  };
  auto first = start(receive(pair.first, with_none.buffer, 1), with_none);
  auto second = start(receive(pair.second, with_one.buffer, 1, given.get_token()), with_one);
  first.resume();
  second.resume();
  inherited.request_stop();
  CHECK(io.process_pending_events() == 1);
  CHECK(with_none.cancelled);
  CHECK_FALSE(with_one.over);
  given.request_stop();
  CHECK(io.process_pending_events() == 1);
  CHECK(with_one.cancelled);
}

TEST_CASE("io_operation: stop requested while its loop sleeps wakes the loop") {
  io_service io;
  const socket_pair pair{io};
  for (int i = 0; i != 50; ++i) {
    stop_source source;
    outcome seen;
    auto waiting = received(pair.second, seen, source.get_token());
    waiting.resume();
    std::thread stopper{[&] { source.request_stop(); }};
    CHECK(io.process_one_event() == 1);
    stopper.join();
    CHECK(seen.cancelled);
  }
}

// ---- destroyed while suspended ------------------------------------------------------------------------

TEST_CASE("io_operation: a coroutine destroyed while it waits is taken out") {
  io_service io;
  const socket_pair pair{io, SOCK_DGRAM};
  stop_source source;
  outcome first, second;
  auto gone = received(pair.second, first, source.get_token()), stays = received(pair.second, second);
  gone.resume();
  stays.resume();
  gone.destroy();
  source.request_stop();
  send_now(pair.first, "x");
  CHECK(io.process_pending_events() == 1);
  CHECK_FALSE(first.over);
  CHECK(second.text() == "x");
}

TEST_CASE(
    "io_operation: a coroutine destroyed when its operation is over, but not delivered, is not resumed") {
  io_service io;
  const socket_pair one{io}, two{io};
  outcome first, second;
  std::optional<test_coroutine> waiting[2];
  const auto wait = [&](const io_descriptor& from, outcome& seen, int other) -> test_coroutine {
    co_await note(receive(from, seen.buffer, 1), seen);
    waiting[other]->destroy();
  };
  waiting[0].emplace(wait(one.second, first, 1));
  waiting[1].emplace(wait(two.second, second, 0));
  waiting[0]->resume();
  waiting[1]->resume();
  send_now(one.first, "1");
  send_now(two.first, "2");
  CHECK(io.process_pending_events() == 1);
  CHECK(first.over != second.over);
}

/// With an address that travels with it.
class [[nodiscard]] address_operation : public coracle::detail::io_operation {
 public:
  address_operation(const io_descriptor& on, io_opcode code, sockaddr_in& with, void* data = nullptr,
                    std::size_t bytes = 0) noexcept
      : io_operation(on, code, data, bytes, {}) {
    address = &with;
    address_size = sizeof with;
  }
  std::int64_t await_resume() { return take_result_or_errno(); }
};
sockaddr_in loopback(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return address;
}

TEST_CASE("io_operation: a connection that was accepted for a coroutine destroyed meanwhile is closed") {
  io_service io;
  const socket_pair pair{io};
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(listening);
  REQUIRE(::listen(listening, 1) == 0);
  const io_descriptor listener{io, listening, io_descriptor_kind::pollable};
  outcome accepting, first;
  const auto accept = [&]() -> test_coroutine {
    co_await note(raw_operation(listener, io_opcode::accept, &accepting, 0), accepting);
  };
  auto waiting = accept();
  const auto destroy_it = [&]() -> test_coroutine {
    co_await note(receive(pair.second, first.buffer, 1), first);
    waiting.destroy();
  };
  auto destroying = destroy_it();
  waiting.resume();
  destroying.resume();
  // One look at the system finds both, this one first.
  send_now(pair.first, "x");
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(io.process_pending_events() == 1);
  CHECK(first.over);
  CHECK_FALSE(accepting.over);
  pollfd at_end{client, POLLIN, 0};
  CHECK(::poll(&at_end, 1, 0) == 1);  // the other end has been closed
  ::close(client);
}

TEST_CASE("io_operation: destroyed on the way to its executor ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string said = coracle_test::abort_message([] {
    io_service io;
    coracle::run_loop loop;
    const socket_pair pair{io};
    char byte = 0;
    const auto wait = [&]() -> test_coroutine {
      co_await loop.schedule();
      co_await receive(pair.second, &byte, 1);
    };
    auto waiting = wait();
    waiting.resume();
    loop.run_one();
    static_cast<void>(::send(pair.first.native_handle(), "x", 1, 0));
    io.process_one_event();
    waiting.destroy();
  });
  CHECK(said.find("coracle: a coroutine was destroyed while it was on its way to its executor") == 0);
}

TEST_CASE("io_operation: a descriptor closed under it ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string said = coracle_test::abort_message([] {
    io_service io;
    socket_pair pair{io};
    outcome seen;
    auto waiting = received(pair.second, seen);
    waiting.resume();
    pair.second.close();
  });
  CHECK(said ==
        "coracle: a file or socket was closed while operations on it were pending: request their stop and "
        "let them "
        "end first\n");
}

TEST_CASE("io_operation: an io_service destroyed before its sockets ends the program and says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string said = coracle_test::abort_message([] {
    std::optional<io_service> io{std::in_place};
    const socket_pair pair{*io};
    io.reset();
  });
  CHECK(said ==
        "coracle: an io_service was destroyed before its files and sockets: let their operations end and "
        "close them "
        "first\n");
}

// ---- the system calls ---------------------------------------------------------------------------------

TEST_CASE("io_operation: read and write of a pipe; wait_readable takes nothing") {
  io_service io;
  const pipe_ends pipe{io, io_descriptor_kind::pollable};
  outcome ready, bytes, written;
  const auto read_it = [&]() -> test_coroutine {
    co_await note(raw_operation(pipe.read, io_opcode::wait_readable, &ready, 0), ready);
    co_await note(raw_operation(pipe.read, io_opcode::read, bytes.buffer, 16), bytes);
  };
  auto reading = read_it();
  reading.resume();
  CHECK_FALSE(ready.over);
  coracle::sync_wait(note(raw_operation(pipe.write, io_opcode::write, "pipe", 4), written));
  CHECK(written.result == 4);
  CHECK(io.process_pending_events() == 1);
  CHECK(ready.result > 0);
  CHECK(bytes.text() == "pipe");
}

TEST_CASE("io_operation: accept and connect over TCP, and a connection that is refused") {
  io_service io;
  const auto tcp = [&] {
    return io_descriptor{io, ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                         io_descriptor_kind::pollable};
  };
  io_descriptor listener = tcp();
  const io_descriptor client = tcp(), refused = tcp();
  sockaddr_in address = loopback(listener.native_handle()), from{};
  REQUIRE(::listen(listener.native_handle(), 4) == 0);
  std::int64_t accepted = -1, connected = -1, not_connected = 0;
  const auto accept = [&]() -> test_coroutine {
    accepted = co_await address_operation(listener, io_opcode::accept, from);
  };
  const auto connect = [&](const io_descriptor& socket, std::int64_t& result) -> test_coroutine {
    result = co_await address_operation(socket, io_opcode::connect, address);
  };
  auto accepting = accept(), connecting = connect(client, connected);
  accepting.resume();
  CHECK(accepted == -1);
  connecting.resume();
  while (!accepting.done() || !connecting.done()) io.process_one_event();
  CHECK(accepted >= 0);
  CHECK(connected == 0);
  CHECK(from.sin_family == AF_INET);
  CHECK(from.sin_port != 0);
  CHECK((::fcntl(static_cast<int>(accepted), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(static_cast<int>(accepted), F_GETFD) & FD_CLOEXEC) != 0);
  const io_descriptor server{io, static_cast<int>(accepted), io_descriptor_kind::pollable};
  listener.close();
  auto failing = connect(refused, not_connected);
  failing.resume();
  while (!failing.done()) io.process_one_event();
  CHECK(not_connected == -ECONNREFUSED);
}

TEST_CASE("io_operation: send_to and receive_from over UDP") {
  io_service io;
  const auto udp = [&] {
    return io_descriptor{io, ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                         io_descriptor_kind::pollable};
  };
  const io_descriptor one = udp(), two = udp();
  sockaddr_in first = loopback(one.native_handle()), second = loopback(two.native_handle()), from{};
  char buffer[8] = {};
  std::int64_t received_bytes = -1;
  const auto wait = [&]() -> test_coroutine {
    received_bytes = co_await address_operation(two, io_opcode::receive_from, from, buffer, sizeof buffer);
  };
  auto waiting = wait();
  waiting.resume();
  char text[] = "udp";
  CHECK(coracle::sync_wait(address_operation(one, io_opcode::send_to, second, text, 3)) == 3);
  CHECK(io.process_one_event() == 1);
  CHECK(received_bytes == 3);
  CHECK(std::string(buffer) == "udp");
  CHECK(from.sin_port == first.sin_port);
}

// ---- memory -------------------------------------------------------------------------------------------

TEST_CASE("io_operation: an operation allocates nothing, ready, waiting or stopped" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  io_service io;
  const socket_pair pair{io};
  stop_source source;
  char byte = 0;
  bool stopped = false;
  const auto work = [&]() -> test_coroutine {
    co_await io.schedule();
    for (int i = 0; i != 100; ++i) {
      co_await send(pair.first, &byte, 1);
      co_await receive(pair.second, &byte, 1, source.get_token());
    }
    co_await receive(pair.second, &byte, 1, source.get_token());
    const std::int64_t result =
        co_await raw_operation(pair.second, io_opcode::wait_writable, &byte, 0, source.get_token());
    stopped = result != 0;
  };
  auto working = work();
  const auto before = coracle::testing::allocations();
  working.resume();
  io.process_pending_events();
  static_cast<void>(::send(pair.first.native_handle(), "x", 1, 0));
  io.process_pending_events();
  const auto after = coracle::testing::allocations();
  CHECK(working.done());
  CHECK(stopped);
  CHECK(after == before);
}

TEST_CASE("io_operation: an io_service or a descriptor for which memory fails leaves nothing behind" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto failed = coracle::testing::fail_each_allocation([] {
    try {
      io_service io;
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      const io_descriptor held{io, fd, io_descriptor_kind::pollable};
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 3);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd < 64);  // none of those was left open
  ::close(fd);
}

static_assert(!std::is_copy_constructible_v<raw_operation> && std::is_move_constructible_v<raw_operation>);
static_assert(std::is_nothrow_move_constructible_v<io_descriptor> &&
              sizeof(io_descriptor) == 2 * sizeof(void*));
static_assert(alignof(raw_operation) <= 16);
}  // namespace
