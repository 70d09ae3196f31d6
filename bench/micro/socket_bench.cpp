// bench/micro/socket_bench.cpp -- TCP and UDP over the loopback interface, next to the bare system calls.
// SPDX-License-Identifier: MIT
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/socket.hpp>
#include <cstring>
#include <vector>

#include "measure.hpp"

namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::ipv4_address;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using coracle_bench::measure;

task<> stop_after(io_service& io, task<> work) {
  co_await std::move(work);
  io.stop();
}
task<> process(io_service& io) {
  io.process_events();
  co_return;
}
/// Runs on this thread, which processes the events.
void run(io_service& io, task<> work) {
  io.reset();
  coracle::sync_wait(coracle::when_all(stop_after(io, std::move(work)), process(io)));
}

socket listening(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}

/// Both ends of a connection, and their io_service.
struct connection {
  io_service io;
  socket listener = listening(io), client = socket::create_tcpv4(io), server = socket::create_tcpv4(io);

  connection() {
    const auto connect = [](connection& its) -> task<> {
      co_await coracle::when_all(its.client.connect(its.listener.local_endpoint()),
                                 its.listener.accept(its.server));
    };
    run(io, connect(*this));
    for (const socket* each : {&client, &server}) {
      const int on = 1;
      ::setsockopt(each->native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }
};

// ---- operations that need not wait ---------------------------------------------------------------------

task<> send_and_receive(connection& its, long n) {
  co_await its.io.schedule();
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await its.client.send(&byte, 1);
    co_await its.server.recv(&byte, 1);
  }
}
void tcp_send_then_receive(benchmark::State& state) {
  connection its;
  measure(state, 10'000, [&](long n) { run(its.io, send_and_receive(its, n)); });
}
void floor_tcp_send_then_receive(benchmark::State& state) {
  connection its;
  measure(state, 10'000, [&](long n) {
    char byte = 0;
    for (long i = 0; i < n; ++i) {
      coracle_bench::need(::send(its.client.native_handle(), &byte, 1, MSG_NOSIGNAL));
      coracle_bench::need(::recv(its.server.native_handle(), &byte, 1, 0));
    }
  });
}

// ---- an echo: each side waits for the other ------------------------------------------------------------

task<> answer(socket& server, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await server.recv(&byte, 1);
    co_await server.send(&byte, 1);
  }
}
task<> ask(socket& client, long n) {
  char byte = 0;
  for (long i = 0; i < n; ++i) {
    co_await client.send(&byte, 1);
    co_await client.recv(&byte, 1);
  }
}
task<> ask_and_answer(connection& its, long n) {
  co_await its.io.schedule();
  co_await coracle::when_all(answer(its.server, n), ask(its.client, n));
}
void tcp_round_trip(benchmark::State& state) {
  connection its;
  measure(state, 5'000, [&](long n) { run(its.io, ask_and_answer(its, n)); });
}

/// A hand-written loop over edge-triggered epoll: try, wait if necessary, try again.
class hand_written_echo {
 public:
  hand_written_echo(int client, int server) : client_(client), server_(server) {
    for (const int fd : {client, server}) {
      epoll_event wanted{};
      wanted.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
      wanted.data.fd = fd;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted);
    }
  }
  hand_written_echo(const hand_written_echo&) = delete;
  hand_written_echo& operator=(const hand_written_echo&) = delete;
  ~hand_written_echo() { ::close(epoll_); }

  void run(long n) {
    send(client_);
    while (n != 0) {
      epoll_event found[16];
      const int count = ::epoll_wait(epoll_, found, 16, -1);
      for (int i = 0; i < count; ++i) {
        if (!(found[i].events & EPOLLIN)) continue;
        char byte = 0;
        while (::recv(found[i].data.fd, &byte, 1, 0) == 1) {
          if (found[i].data.fd == server_) {
            send(server_);
          } else if (--n != 0) {
            send(client_);
          }
        }
      }
    }
  }

 private:
  static void send(int fd) {
    const char byte = 0;
    coracle_bench::need(::send(fd, &byte, 1, MSG_NOSIGNAL));
  }
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC), client_, server_;
};
void floor_tcp_round_trip(benchmark::State& state) {
  connection its;
  hand_written_echo echo(its.client.native_handle(), its.server.native_handle());
  measure(state, 5'000, [&](long n) { echo.run(n); });
}

// ---- connections and datagrams -------------------------------------------------------------------------

task<> connect_and_close(io_service& io, socket& listener, long n) {
  co_await io.schedule();
  for (long i = 0; i < n; ++i) {
    socket client = socket::create_tcpv4(io);
    co_await client.connect(listener.local_endpoint());
    const socket server = co_await listener.accept();
  }
}
void tcp_connect_accept_close(benchmark::State& state) {
  io_service io;
  socket listener = listening(io);
  measure(state, 1'000, [&](long n) { run(io, connect_and_close(io, listener, n)); });
}
void floor_tcp_connect_accept_close(benchmark::State& state) {
  io_service io;
  const socket listener = listening(io);
  const int listening_fd = listener.native_handle();
  measure(state, 1'000, [&](long n) {
    for (long i = 0; i < n; ++i) {
      const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in to{};
      socklen_t size = sizeof to;
      ::getsockname(listening_fd, reinterpret_cast<sockaddr*>(&to), &size);
      ::connect(client, reinterpret_cast<sockaddr*>(&to), size);
      const int server =
          ::accept4(listening_fd, reinterpret_cast<sockaddr*>(&to), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      ::close(server);
      ::close(client);
    }
  });
}

task<> send_and_receive_datagrams(io_service& io, socket& receiver, socket& sender, long n) {
  co_await io.schedule();
  char bytes[64] = {};
  const coracle::net::ip_endpoint to = receiver.local_endpoint();
  for (long i = 0; i < n; ++i) {
    co_await sender.send_to(to, bytes, sizeof bytes);
    co_await receiver.recv_from(bytes, sizeof bytes);
  }
}
void udp_send_to_then_recv_from(benchmark::State& state) {
  io_service io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  measure(state, 10'000, [&](long n) { run(io, send_and_receive_datagrams(io, receiver, sender, n)); });
}
void floor_udp_send_to_then_recv_from(benchmark::State& state) {
  io_service io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  sockaddr_in to{}, from{};
  socklen_t size = sizeof to;
  ::getsockname(receiver.native_handle(), reinterpret_cast<sockaddr*>(&to), &size);
  measure(state, 10'000, [&](long n) {
    char bytes[64] = {};
    for (long i = 0; i < n; ++i) {
      socklen_t room = sizeof from;
      coracle_bench::need(::sendto(sender.native_handle(), bytes, sizeof bytes, MSG_NOSIGNAL,
                                   reinterpret_cast<sockaddr*>(&to), size));
      coracle_bench::need(::recvfrom(receiver.native_handle(), bytes, sizeof bytes, MSG_TRUNC,
                                     reinterpret_cast<sockaddr*>(&from), &room));
    }
  });
}

// ---- datagrams of one size, to one peer: an operation is one of them ---------------------------------

constexpr std::size_t at_once = 32, datagram_size = 1200;

/// `n` times `at_once` datagrams are sent and received by `both`, one after the other.
template <class Both>
void measure_datagrams(benchmark::State& state, Both both) {
  io_service io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  const auto all = [&](long n) -> task<> {
    co_await io.schedule();
    for (long i = 0; i < n; ++i) co_await both(sender, receiver);
  };
  coracle_bench::measure_each(state, 100, at_once, [&](long n) { run(io, all(n)); });
}
void udp_datagrams_one_by_one(benchmark::State& state) {
  measure_datagrams(state, [](socket& sender, socket& receiver) -> task<> {
    char bytes[datagram_size] = {};
    for (std::size_t i = 0; i != at_once; ++i)
      co_await sender.send_to(receiver.local_endpoint(), bytes, sizeof bytes);
    for (std::size_t i = 0; i != at_once; ++i) co_await receiver.recv_from(bytes, sizeof bytes);
  });
}
void udp_datagrams_in_a_batch(benchmark::State& state) {
  coracle::net::datagram_batch sent{at_once, datagram_size}, received{at_once, datagram_size};
  measure_datagrams(state, [&](socket& sender, socket& receiver) -> task<> {
    const std::byte bytes[datagram_size] = {};
    const auto to = receiver.local_endpoint();
    while (!sent.is_full()) sent.add(to, bytes);
    while (sent.size() != 0) co_await coracle::net::send_batch(sender, sent);
    for (std::size_t got = 0; got != at_once;) got += co_await coracle::net::recv_batch(receiver, received);
  });
}
void udp_datagrams_as_segments(benchmark::State& state) {
  std::vector<std::byte> bytes(at_once * datagram_size), room(coracle::net::most_received_segments);
  bool joins = false;
  measure_datagrams(state, [&](socket& sender, socket& receiver) -> task<> {
    if (!std::exchange(joins, true)) coracle::net::join_datagrams(receiver);
    const auto to = receiver.local_endpoint();
    co_await coracle::net::send_segments(sender, to, bytes, datagram_size);
    for (std::size_t got = 0; got != bytes.size();) {
      const auto some = co_await coracle::net::recv_segments(receiver, room);
      got += some.size;
    }
  });
}
/// sendmsg(2) and recvmsg(2).
void floor_udp_datagrams_as_segments(benchmark::State& state) {
  io_service io;
  socket receiver = socket::create_udpv4(io), sender = socket::create_udpv4(io);
  receiver.bind(ipv4_endpoint{ipv4_address::loopback(), 0});
  coracle::net::join_datagrams(receiver);
  sockaddr_in to{};
  socklen_t size = sizeof to;
  ::getsockname(receiver.native_handle(), reinterpret_cast<sockaddr*>(&to), &size);
  std::vector<char> bytes(at_once * datagram_size), room(coracle::net::most_received_segments);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  const auto message_of = [&](iovec& its) {
    msghdr one{};
    one.msg_iov = &its;
    one.msg_iovlen = 1;
    one.msg_control = control;
    one.msg_controllen = sizeof control;
    return one;
  };
  coracle_bench::measure_each(state, 100, at_once, [&](long n) {
    for (long i = 0; i < n; ++i) {
      iovec from{bytes.data(), bytes.size()}, into{room.data(), room.size()};
      msghdr sent = message_of(from);
      sent.msg_name = &to;
      sent.msg_namelen = size;
      sent.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
      cmsghdr* const header = CMSG_FIRSTHDR(&sent);
      header->cmsg_level = SOL_UDP;
      header->cmsg_type = UDP_SEGMENT;
      header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const std::uint16_t each = datagram_size;
      std::memcpy(CMSG_DATA(header), &each, sizeof each);
      coracle_bench::need(::sendmsg(sender.native_handle(), &sent, MSG_NOSIGNAL));
      for (std::size_t got = 0; got != bytes.size();) {
        sockaddr_in peer{};
        msghdr received = message_of(into);
        received.msg_name = &peer;
        received.msg_namelen = sizeof peer;
        got += static_cast<std::size_t>(::recvmsg(receiver.native_handle(), &received, MSG_TRUNC));
      }
    }
  });
}

CORACLE_BENCH(tcp_send_then_receive);
CORACLE_BENCH(floor_tcp_send_then_receive);
CORACLE_BENCH(tcp_round_trip);
CORACLE_BENCH(floor_tcp_round_trip);
CORACLE_BENCH(tcp_connect_accept_close);
CORACLE_BENCH(floor_tcp_connect_accept_close);
CORACLE_BENCH(udp_send_to_then_recv_from);
CORACLE_BENCH(floor_udp_send_to_then_recv_from);
CORACLE_BENCH(udp_datagrams_one_by_one);
CORACLE_BENCH(udp_datagrams_in_a_batch);
CORACLE_BENCH(udp_datagrams_as_segments);
CORACLE_BENCH(floor_udp_datagrams_as_segments);
}  // namespace
