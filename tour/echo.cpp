// tour/echo.cpp -- messages to an echo server and back, over loopback: with coroutines, and with threads.
// SPDX-License-Identifier: MIT
#include "echo.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/socket.hpp>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "clock.hpp"

namespace tour {
namespace {
using coracle::task;
using coracle::net::socket;

constexpr std::size_t message_size = 64;
using message = std::array<unsigned char, message_size>;

message numbered(std::size_t number) {
  message made;
  for (std::size_t i = 0; i != made.size(); ++i) made[i] = static_cast<unsigned char>(number + i);
  return made;
}

std::uint64_t context_switches() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_nvcsw + used.ru_nivcsw);
}

/// Fills in what is the same for both.
class measurement {
 public:
  explicit measurement(echo_run& run) : run_(run) {}
  measurement(const measurement&) = delete;
  measurement& operator=(const measurement&) = delete;
  ~measurement() {
    run_.seconds = watch_.seconds();
    run_.switches = context_switches() - switches_;
    std::sort(run_.nanoseconds.begin(), run_.nanoseconds.end());
  }

 private:
  echo_run& run_;
  std::uint64_t switches_ = context_switches();
  stopwatch watch_;
};

struct server_state {
  std::size_t connected = 0, most = 0;
};

task<> echo(socket client, server_state& state) {
  state.most = std::max(state.most, ++state.connected);
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t size = co_await client.recv(buffer);
    if (size == 0) break;
    co_await client.send_all(buffer.data(), size);
  }
  --state.connected;
}

task<> receive_whole(socket& from, message& to) {
  for (std::size_t got = 0; got != to.size();) {
    const std::size_t size = co_await from.recv(to.data() + got, to.size() - got);
    if (size == 0) throw std::runtime_error("the echo server has hung up");
    got += size;
  }
}
task<> talk(coracle::io_service& io, coracle::net::ip_endpoint server, std::size_t messages, echo_run& run) {
  socket connection = socket::create_tcpv4(io);
  co_await connection.connect(server);
  for (std::size_t i = 0; i != messages; ++i) {
    const message sent = numbered(i);
    message answer{};
    const stopwatch watch;
    co_await connection.send_all(sent);
    co_await receive_whole(connection, answer);
    run.nanoseconds.push_back(watch.nanoseconds());
    run.wrong += answer != sent;
  }
}
task<> talk_with_all(coracle::io_service& io, std::size_t clients, std::size_t messages, echo_run& run) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  server_state state;
  const auto handle = [&state](socket client) { return echo(std::move(client), state); };
  std::vector<task<>> all;
  for (std::size_t i = 0; i != clients; ++i)
    all.push_back(talk(io, listener.local_endpoint(), messages, run));
  auto stopped_when_all_have_ended =
      coracle::when_any(coracle::when_all(std::move(all)), coracle::net::serve(listener, handle));
  co_await std::move(stopped_when_all_have_ended);
  run.most_connected = state.most;
}

/// A descriptor that is closed in the end.
class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {
    if (number < 0) throw std::system_error(errno, std::generic_category(), "a socket");
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { ::close(number_); }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

void require(int result) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), "a socket");
}
void send_at_once(const descriptor& connection) {
  const int on = 1;
  require(::setsockopt(connection.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

void echo_until_closed(const descriptor& listener) {
  const descriptor client(::accept(listener.number(), nullptr, nullptr));
  send_at_once(client);
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = ::recv(client.number(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return;
    if (::send(client.number(), buffer.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) != size) return;
  }
}
void talk_blocking(const sockaddr_in& server, std::size_t messages, echo_run& run) {
  const descriptor connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  require(::connect(connection.number(), reinterpret_cast<const sockaddr*>(&server), sizeof server));
  send_at_once(connection);
  for (std::size_t i = 0; i != messages; ++i) {
    const message sent = numbered(i);
    message answer{};
    const stopwatch watch;
    require(static_cast<int>(::send(connection.number(), sent.data(), sent.size(), MSG_NOSIGNAL)));
    require(static_cast<int>(::recv(connection.number(), answer.data(), answer.size(), MSG_WAITALL)));
    run.nanoseconds.push_back(watch.nanoseconds());
    run.wrong += answer != sent;
  }
}
}  // namespace

double echo_run::percentile(double percent) const {
  if (nanoseconds.empty()) return 0;
  const double place = percent / 100 * static_cast<double>(nanoseconds.size() - 1);
  return nanoseconds[static_cast<std::size_t>(place)];
}

echo_run echo_with_coroutines(std::size_t clients, std::size_t messages) {
  echo_run run;
  coracle::io_service io;
  const measurement measured(run);
  io.run(talk_with_all(io, clients, messages, run));
  return run;
}

echo_run echo_with_threads(std::size_t messages) {
  echo_run run;
  const descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  require(::bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), size));
  require(::listen(listener.number(), 1));
  require(::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size));
  const measurement measured(run);
  std::thread server([&listener] { echo_until_closed(listener); });
  talk_blocking(address, messages, run);
  server.join();
  return run;
}
}  // namespace tour
