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

#include <atomic>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>
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
/// The clients of a listening server, which stays on the other processor if it has one thread.
class clients {
 public:
  explicit clients(int listener, int server_threads = 1) {
    sockaddr_in server{};
    socklen_t size = sizeof server;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&server), &size);
    id_ = ::fork();
    if (id_ == 0) send_and_receive(server);
    if (server_threads == 1) stay_on(1);
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
socket listening(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}
void echo_on(const char* engine, scenario& run) {
  ::setenv("CORACLE_IO", engine, 1);
  io_service io;
  socket listener = listening(io);
  const clients some{listener.native_handle()};
  long echoed = 0;
  run.measure([&] { io.run(serve(listener, echoed)); });
  run.expect(echoed == requests, "every message is sent back");
}
void echo_io_uring(scenario& run) { echo_on("io_uring", run); }
void echo_epoll(scenario& run) { echo_on("epoll", run); }

/// On an io_service a thread. The clients take more than a processor, so only processor time counts.
void echo_on_two_threads(scenario& run) {
  ::setenv("CORACLE_IO", "io_uring", 1);
  io_service io;
  coracle::io_service_group workers{2};
  socket listener = listening(io);
  const clients some{listener.native_handle(), 2};
  std::atomic<long> echoed{0};
  const auto serve_one = [&](io_service& home, socket client) -> task<> {
    co_await home.schedule();
    long its = 0;
    co_await echo(std::move(client), its);
    echoed += its;
  };
  const auto serve_all = [&]() -> task<> {
    coracle::async_scope scope;
    for (int i = 0; i != connections; ++i) {
      io_service& home = workers.next();
      socket client = co_await listener.accept_on(home);
      scope.spawn(serve_one(home, std::move(client)));
    }
    co_await scope.join();
  };
  run.measure([&] { io.run(serve_all()); });
  run.expect(echoed == requests, "every message is sent back");
}

/// Each receive has a deadline, which is never met.
task<> echo_in_time(socket client, long& echoed) {
  char bytes[room];
  for (bool more = true; more;) {
    const std::size_t got =
        co_await coracle::timeout(client.recv(bytes, sizeof bytes), std::chrono::seconds{30});
    more = got != 0;
    if (!more) break;
    co_await client.send(bytes, got);
    ++echoed;
  }
}
void echo_with_timeouts(scenario& run) {
  ::setenv("CORACLE_IO", "io_uring", 1);
  io_service io;
  socket listener = listening(io);
  const clients some{listener.native_handle()};
  long echoed = 0;
  const auto serve_all = [&]() -> task<> {
    coracle::async_scope scope;
    for (int i = 0; i != connections; ++i) {
      socket client = co_await listener.accept();
      scope.spawn(echo_in_time(std::move(client), echoed));
    }
    co_await scope.join();
  };
  run.measure([&] { io.run(serve_all()); });
  run.expect(echoed == requests, "every message is sent back");
}

// ---- by hand ------------------------------------------------------------------------------------------

struct connection {
  int fd;
  char bytes[room];
};
/// Serves so many connections. With timeouts, each receive is linked to one of 30 s.
void serve_by_hand(int listener, int count, bool with_timeouts, long& echoed) {
  raw_ring ring;
  std::vector<std::unique_ptr<connection>> all;
  constexpr std::uint64_t ignored = 0, to_accept = 1, is_send = 1;
  const __kernel_timespec limit{30, 0};
  const auto receive = [&](connection& from) {
    io_uring_sqe& entry = ring.push(IORING_OP_RECV, from.fd, reinterpret_cast<std::uint64_t>(&from));
    entry.addr = reinterpret_cast<std::uint64_t>(from.bytes);
    entry.len = room;
    if (!with_timeouts) return;
    entry.flags = IOSQE_IO_LINK;
    io_uring_sqe& timeout = ring.push(IORING_OP_LINK_TIMEOUT, -1, ignored);
    timeout.addr = reinterpret_cast<std::uint64_t>(&limit);
    timeout.len = 1;
  };
  ring.push(IORING_OP_ACCEPT, listener, to_accept);
  for (int open = count; open != 0;) {
    ring.wait([&](const io_uring_cqe& completion) {
      if (completion.user_data == ignored) return;
      if (completion.user_data == to_accept) {
        all.push_back(std::make_unique<connection>());
        all.back()->fd = completion.res;
        receive(*all.back());
        if (all.size() != static_cast<std::size_t>(count)) ring.push(IORING_OP_ACCEPT, listener, to_accept);
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
}
void serve_on_one_thread(scenario& run, bool with_timeouts) {
  const int listener = listening();
  const clients some{listener};
  long echoed = 0;
  run.measure([&] { serve_by_hand(listener, connections, with_timeouts, echoed); });
  run.expect(echoed == requests, "every message is sent back");
}
void loop_echo_io_uring(scenario& run) { serve_on_one_thread(run, false); }
void loop_echo_with_timeouts(scenario& run) { serve_on_one_thread(run, true); }
/// A ring on each of two threads.
void loop_echo_on_two_threads(scenario& run) {
  const int listener = listening();
  const clients some{listener, 2};
  long here = 0, there = 0;
  run.measure([&] {
    std::thread other{[&] { serve_by_hand(listener, connections / 2, false, there); }};
    serve_by_hand(listener, connections / 2, false, here);
    other.join();
  });
  run.expect(here + there == requests, "every message is sent back");
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
CORACLE_SCENARIO(echo_on_two_threads);
CORACLE_SCENARIO(echo_with_timeouts);
CORACLE_SCENARIO(loop_echo_io_uring);
CORACLE_SCENARIO(loop_echo_on_two_threads);
CORACLE_SCENARIO(loop_echo_with_timeouts);
CORACLE_SCENARIO(loop_echo_epoll);
}  // namespace
