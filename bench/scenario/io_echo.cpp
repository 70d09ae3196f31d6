// bench/scenario/io_echo.cpp -- an echo server on each engine, and the same written by hand. The processor
// time is the server's; its clients are another process, on another processor.
// SPDX-License-Identifier: MIT
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

#include "raw_ring.hpp"
#include "scenario.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using namespace coracle_bench;

constexpr int connections = 1000, message = 64;
constexpr int requests = 400'000;
constexpr std::size_t room = 4096;

void stay_on(unsigned processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// One message in flight on each connection, until enough have been sent.
[[noreturn]] void send_and_receive(sockaddr_in server) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  stay_on(0);
  const int queue = ::epoll_create1(0);
  char bytes[room] = {};
  std::vector<int> all;
  for (int i = 0; i != connections; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&server), sizeof server) != 0) std::_Exit(1);
    epoll_event wanted{EPOLLIN, {}};
    wanted.data.fd = fd;
    ::epoll_ctl(queue, EPOLL_CTL_ADD, fd, &wanted);
    all.push_back(fd);
  }
  for (const int fd : all) static_cast<void>(!::send(fd, bytes, message, 0));
  for (int left = requests; left > 0;) {
    epoll_event found[256];
    const int count = ::epoll_wait(queue, found, 256, -1);
    for (int i = 0; i < count; ++i) {
      if (::recv(found[i].data.fd, bytes, sizeof bytes, 0) < message) std::_Exit(2);
      if (--left >= connections) static_cast<void>(!::send(found[i].data.fd, bytes, message, 0));
    }
  }
  std::_Exit(0);
}
/// The clients of a listening server.
class clients {
 public:
  explicit clients(int listener) {
    sockaddr_in server{};
    socklen_t size = sizeof server;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&server), &size);
    id_ = ::fork();
    if (id_ == 0) send_and_receive(server);
    stay_on(1);
  }
  clients(const clients&) = delete;
  clients& operator=(const clients&) = delete;
  ~clients() { ::waitpid(id_, nullptr, 0); }

 private:
  ::pid_t id_ = -1;
};
int listening() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::exit(1);
  ::listen(fd, connections);
  return fd;
}

// ---- coracle ------------------------------------------------------------------------------------------

task<> echo(socket client, long& echoed) {
  char bytes[room];
  while (const std::size_t got = co_await client.recv(bytes, sizeof bytes)) {
    co_await client.send(bytes, got);
    ++echoed;
  }
}
task<> serve(socket& listener, long& echoed) {
  coracle::async_scope scope;
  for (int i = 0; i != connections; ++i) {
    socket client = co_await listener.accept();
    scope.spawn(echo(std::move(client), echoed));
  }
  co_await scope.join();
}
void echo_on(const char* engine, scenario& run) {
  ::setenv("CORACLE_IO", engine, 1);
  io_service io;
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  const clients some{listener.native_handle()};
  long echoed = 0;
  run.measure([&] { io.run(serve(listener, echoed)); });
  run.expect(echoed == requests, "every message is sent back");
}
void echo_io_uring(scenario& run) { echo_on("io_uring", run); }
void echo_epoll(scenario& run) { echo_on("epoll", run); }

// ---- by hand ------------------------------------------------------------------------------------------

struct connection {
  int fd;
  char bytes[room];
};
void loop_echo_io_uring(scenario& run) {
  const int listener = listening();
  const clients some{listener};
  long echoed = 0;
  run.measure([&] {
    raw_ring ring;
    std::vector<std::unique_ptr<connection>> all;
    constexpr std::uint64_t to_accept = 1, is_send = 1;
    const auto receive = [&](connection& from) {
      io_uring_sqe& entry = ring.push(IORING_OP_RECV, from.fd, reinterpret_cast<std::uint64_t>(&from));
      entry.addr = reinterpret_cast<std::uint64_t>(from.bytes);
      entry.len = room;
    };
    ring.push(IORING_OP_ACCEPT, listener, to_accept);
    for (int open = connections; open != 0;) {
      ring.wait([&](const io_uring_cqe& completion) {
        if (completion.user_data == to_accept) {
          all.push_back(std::make_unique<connection>());
          all.back()->fd = completion.res;
          receive(*all.back());
          if (all.size() != connections) ring.push(IORING_OP_ACCEPT, listener, to_accept);
          return;
        }
        auto& its = *reinterpret_cast<connection*>(completion.user_data & ~is_send);
        if (completion.user_data & is_send) return receive(its);
        if (completion.res <= 0) {
          ::close(its.fd);
          --open;
          return;
        }
        ++echoed;
        io_uring_sqe& entry =
            ring.push(IORING_OP_SEND, its.fd, reinterpret_cast<std::uint64_t>(&its) | is_send);
        entry.addr = reinterpret_cast<std::uint64_t>(its.bytes);
        entry.len = static_cast<std::uint32_t>(completion.res);
      });
    }
  });
  run.expect(echoed == requests, "every message is sent back");
}
void loop_echo_epoll(scenario& run) {
  const int listener = listening();
  const clients some{listener};
  long echoed = 0;
  run.measure([&] {
    const int queue = ::epoll_create1(0);
    std::vector<std::unique_ptr<connection>> all;
    for (int i = 0; i != connections; ++i) {
      all.push_back(std::make_unique<connection>());
      all.back()->fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      epoll_event wanted{EPOLLIN, {}};
      wanted.data.ptr = all.back().get();
      ::epoll_ctl(queue, EPOLL_CTL_ADD, all.back()->fd, &wanted);
    }
    for (int open = connections; open != 0;) {
      epoll_event found[128];
      const int count = ::epoll_wait(queue, found, 128, -1);
      for (int i = 0; i < count; ++i) {
        auto& its = *static_cast<connection*>(found[i].data.ptr);
        const ssize_t got = ::recv(its.fd, its.bytes, room, 0);
        if (got <= 0) {
          ::close(its.fd);
          --open;
        } else {
          static_cast<void>(!::send(its.fd, its.bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL));
          ++echoed;
        }
      }
    }
    ::close(queue);
  });
  run.expect(echoed == requests, "every message is sent back");
}

CORACLE_SCENARIO(echo_io_uring);
CORACLE_SCENARIO(echo_epoll);
CORACLE_SCENARIO(loop_echo_io_uring);
CORACLE_SCENARIO(loop_echo_epoll);
}  // namespace
