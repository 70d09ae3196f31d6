// examples/30_chat.cpp -- a chat server: everybody receives every line. Ctrl-C ends it.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

using namespace std::chrono_literals;
using coracle::net::socket;
using lines = coracle::broadcast<std::string>;

/// Returns the next line, with its newline; empty if the stream has ended. `rest` keeps what follows.
coracle::task<std::string> receive_line(socket& from, std::string& rest) {
  const std::size_t size = co_await from.recv_until(rest, "\n", 1000);
  std::string line = rest.substr(0, size);
  rest.erase(0, size);
  co_return line;
}

coracle::task<> hear(socket& member, coracle::broadcast_subscription<std::string> said) {
  while (const auto line = co_await said.recv()) {
    co_await coracle::timeout(member.send_all(*line), 10s);  // one that does not read would keep its place
  }
}
coracle::task<> speak(socket& member, lines& said) {
  std::string rest;
  for (;;) {
    std::string line = co_await receive_line(member, rest);
    if (line.empty()) break;
    said.send(std::move(line));
  }
}
/// Runs until the member leaves, or fails: it sends a line that is too long, does not read for ten seconds,
/// or reads so slowly that it has missed something.
coracle::task<> serve_one(socket member, lines& said) {
  auto heard = said.subscribe();
  co_await member.send_all("welcome\n");
  co_await coracle::when_any(speak(member, said), hear(member, std::move(heard)));
}
/// Runs until it is stopped; all members stop with it. One that fails stops no other.
coracle::task<> serve(socket& listener) {
  lines said{100};
  const auto report = [](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {  // an error_group, too: speaking and hearing may both fail
      std::printf("a member is gone: %s\n", error.what());
    }
  };
  const auto accept_all = [&](coracle::async_scope& members) -> coracle::task<> {
    for (;;) {
      socket member = co_await coracle::net::accept_with_backoff(listener);
      members.spawn(serve_one(std::move(member), said));
    }
  };
  co_await coracle::with_scope(coracle::scope_policy::supervise(report), accept_all);
}

/// Two local members, one of which says something that both receive.
coracle::task<> talk(coracle::io_service& io, coracle::net::ip_endpoint server) {
  socket ann = socket::create_tcpv4(io), bob = socket::create_tcpv4(io);
  std::string rest_of_ann, rest_of_bob;
  co_await ann.connect(server);
  const std::string first = co_await receive_line(ann, rest_of_ann);
  co_await bob.connect(server);
  const std::string second = co_await receive_line(bob, rest_of_bob);
  std::printf("ann: %sbob: %s", first.c_str(), second.c_str());
  co_await ann.send_all("ann: anybody there?\n");
  const std::string to_ann = co_await receive_line(ann, rest_of_ann);
  const std::string to_bob = co_await receive_line(bob, rest_of_bob);
  std::printf("to ann: %sto bob: %s", to_ann.c_str(), to_bob.c_str());
  kill(getpid(), SIGINT);  // as if Ctrl-C had been pressed
}

/// Runs until Ctrl-C. Port 0: a free port, and local members.
coracle::task<> run(coracle::io_service& io, int port) {
  coracle::signal_set ctrl_c{io, {SIGINT, SIGTERM}};
  socket listener = socket::create_tcpv4(io);
  listener.bind(
      coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), static_cast<std::uint16_t>(port)});
  listener.listen();
  if (port == 0) {
    co_await coracle::when_all(coracle::when_any(ctrl_c.wait(), serve(listener)),
                               talk(io, listener.local_endpoint()));
  } else {
    co_await coracle::when_any(ctrl_c.wait(), serve(listener));
  }
  std::puts("the server stops");
}

int main(int argc, char** argv) {
  coracle::io_service io;
  io.run(run(io, argc > 1 ? std::atoi(argv[1]) : 0));
}

// Output:
//   ann: welcome
//   bob: welcome
//   to ann: ann: anybody there?
//   to bob: ann: anybody there?
//   the server stops
