// tests/cancellation/socket_cases.hpp -- sockets of internet addresses.
// SPDX-License-Identifier: MIT
#pragma once
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/send_file.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "../support/socket_pair.hpp"
#include "io_case.hpp"

namespace coracle_test {
inline const coracle::net::ip_endpoint& any_loopback_port() {
  static const coracle::net::ip_endpoint port =
      coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0};
  return port;
}

class socket_recv_case final : public byte_case {
  coracle::task<> operation() override {
    co_await to_its_end(coracle::net::socket_recv_operation{pair().second, &byte_, 1, 0, {}});
  }
  int sender() override { return pair().first.native_handle(); }
  int receiver() override { return pair().second.native_handle(); }
  socket_pair& pair() {
    static socket_pair both{io_};
    return both;
  }
};

class socket_send_case final : public full_case {
 public:
  socket_send_case() { shrink_and_fill(pair_.first.native_handle(), pair_.second.native_handle()); }

 private:
  coracle::task<> operation() override {
    co_await to_its_end(coracle::net::socket_send_operation{pair_.first, &byte_, 1, {}});
  }
  socket_pair pair_{io_};
};

struct tcp_pair {
  explicit tcp_pair(coracle::io_service& io)
      : client(coracle::net::socket::create_tcpv4(io)), server(coracle::net::socket::create_tcpv4(io)) {
    const int smallest = 1;
    auto listener = coracle::net::socket::create_tcpv4(io);
    ::setsockopt(listener.native_handle(), SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest);
    ::setsockopt(client.native_handle(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
    listener.bind(any_loopback_port());
    listener.listen();
    io.run(coracle::when_all(client.connect(listener.local_endpoint()), listener.accept(server)));
  }
  coracle::net::socket client, server;
};
enum class datagrams { one, batch, segments };
/// TCP ignores the address.
template <datagrams How>
class send_to_case final : public full_case {
 public:
  send_to_case() { this->fill(pair().client.native_handle(), pair().server.native_handle()); }

 private:
  coracle::task<> operation() override {
    if constexpr (How == datagrams::batch) {
      coracle::net::datagram_batch one{1, 1};
      one.add(any_loopback_port(), std::as_bytes(std::span{&byte_, 1}));
      co_await to_its_end(coracle::net::send_batch(pair().client, one));
    } else if constexpr (How == datagrams::segments) {
      const auto bytes = std::as_bytes(std::span{&byte_, 1});
      co_await to_its_end(coracle::net::send_segments(pair().client, any_loopback_port(), bytes, 1));
    } else {
      co_await to_its_end(pair().client.send_to(any_loopback_port(), &byte_, 1));
    }
  }
  tcp_pair& pair() {
    static tcp_pair both{io_};
    return both;
  }
};

struct udp_pair {
  explicit udp_pair(coracle::io_service& io)
      : receiver(coracle::net::socket::create_udpv4(io)), sender(coracle::net::socket::create_udpv4(io)) {
    receiver.bind(any_loopback_port());
    io.run(sender.connect(receiver.local_endpoint()));
  }
  coracle::net::socket receiver, sender;
};

template <datagrams How>
class recv_from_case final : public byte_case {
  coracle::task<> operation() override {
    if constexpr (How == datagrams::batch) {
      coracle::net::datagram_batch into{2, 1};
      co_await to_its_end(coracle::net::recv_batch(pair().receiver, into));
      byte_ = static_cast<char>(into.bytes(0)[0]);
    } else if constexpr (How == datagrams::segments) {
      const auto room = std::as_writable_bytes(std::span{&byte_, 1});
      static_cast<void>(co_await to_its_end(coracle::net::recv_segments(pair().receiver, room)));
    } else {
      co_await to_its_end(pair().receiver.recv_from(&byte_, 1));
    }
  }
  int sender() override { return pair().sender.native_handle(); }
  int receiver() override { return pair().receiver.native_handle(); }
  udp_pair& pair() {
    static udp_pair both{io_};
    return both;
  }
};

class send_all_case final : public full_case {
 public:
  send_all_case() { fill(pair().client.native_handle(), pair().server.native_handle()); }

 private:
  coracle::task<> operation() override { co_await to_its_end(pair().client.send_all(&byte_, 1)); }
  tcp_pair& pair() {
    static tcp_pair both{io_};
    return both;
  }
};

class send_file_case final : public full_case {
 public:
  send_file_case() { fill(pair().client.native_handle(), pair().server.native_handle()); }

 private:
  coracle::task<> operation() override {
    const auto sent = co_await to_its_end(coracle::net::send_file(pair().client, file(), 0, 1));
    static_cast<void>(sent);
  }
  tcp_pair& pair() {
    static tcp_pair both{io_};
    return both;
  }
  /// One byte, which is in the page cache.
  coracle::read_only_file& file() {
    static auto one = [this] {
      const auto path =
          std::filesystem::temp_directory_path() / ("coracle_sent_" + std::to_string(::getpid()));
      auto made = coracle::write_only_file::open(io_, path);
      io_.run(made.write_all(0, "x", 1));
      auto opened = coracle::read_only_file::open(io_, path);
      std::filesystem::remove(path);
      return opened;
    }();
    return one;
  }
};

struct unix_ends {
  explicit unix_ends(coracle::io_service& io) : unix_ends(coracle::net::make_unix_pair(io)) {}
  explicit unix_ends(coracle::net::unix_pair both)
      : client(std::move(both.first)), server(std::move(both.second)) {}
  coracle::net::unix_socket client, server;
};
/// One byte has arrived, and complete() sends the second.
template <class Ends>
class half_received_case : public io_case {
 public:
  half_received_case() { send("a"); }

 protected:
  auto& receiver() { return pair().server; }
  /// The number of bytes that it has taken.
  virtual std::size_t taken() = 0;

 private:
  void complete() override {
    completed_ = true;
    send("b");
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    const std::size_t sent = completed ? 2 : 1;
    std::size_t found = taken();
    char rest = 0;
    while (found < sent && ::recv(receiver().native_handle(), &rest, 1, 0) == 1) ++found;
    const bool no_more = ::recv(receiver().native_handle(), &rest, 1, MSG_DONTWAIT) < 0;
    return found == sent && no_more && carried_out == (taken() == 2);
  }
  void send(const char* byte) { static_cast<void>(!::send(pair().client.native_handle(), byte, 1, 0)); }
  Ends& pair() {
    static Ends both{io_};
    return both;
  }
};
template <class Ends>
class recv_exactly_case final : public half_received_case<Ends> {
  coracle::task<> operation() override {
    co_await this->to_its_end(this->receiver().recv_exactly(both_, 2, {}, &received_));
  }
  std::size_t taken() override { return received_; }

  char both_[2];
  std::size_t received_ = 0;
};
template <class Ends>
class recv_until_case final : public half_received_case<Ends> {
  coracle::task<> operation() override {
    co_await this->to_its_end(this->receiver().recv_until(text_, "b", 10));
  }
  std::size_t taken() override { return text_.size(); }

  std::string text_;
};

enum class accepts { new_one, into_another, on_service, with_backoff };
template <accepts What>
class accept_case final : public io_case {
  coracle::task<> operation() override {
    if constexpr (What == accepts::into_another) {
      co_await to_its_end(listener().accept(accepted_));
    } else if constexpr (What == accepts::on_service) {
      accepted_ = co_await to_its_end(listener().accept_on(io_));
    } else if constexpr (What == accepts::with_backoff) {
      accepted_ = co_await to_its_end(coracle::net::accept_with_backoff(listener()));
    } else {
      accepted_ = co_await to_its_end(listener().accept());
    }
    connected_ = true;
  }
  void complete() override {
    client_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const linger none_left{1, 0};  // a reset, so that no port is used up
    ::setsockopt(client_, SOL_SOCKET, SO_LINGER, &none_left, sizeof none_left);
    sockaddr_in to{};
    socklen_t size = sizeof to;
    ::getsockname(listener().native_handle(), reinterpret_cast<sockaddr*>(&to), &size);
    completed_ = ::connect(client_, reinterpret_cast<const sockaddr*>(&to), size) == 0;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    if (completed && !carried_out) {
      pollfd waiting{listener().native_handle(), POLLIN, 0};
      if (::poll(&waiting, 1, 1000) != 1) return false;
      ::close(::accept(listener().native_handle(), nullptr, nullptr));
    }
    const int more = ::accept4(listener().native_handle(), nullptr, nullptr, SOCK_NONBLOCK);
    if (client_ >= 0) ::close(client_);
    return more < 0 && connected_ == carried_out;
  }
  coracle::net::socket& listener() {
    static coracle::net::socket one = [this] {
      auto made = coracle::net::socket::create_tcpv4(io_);
      made.bind(any_loopback_port());
      made.listen();
      return made;
    }();
    return one;
  }

  coracle::net::socket accepted_ = coracle::net::socket::create_tcpv4(io_);
  int client_ = -1;
  bool connected_ = false;
};

/// A server whose queue is full does not answer. complete() has the system give up; where that comes first,
/// there is nothing to wait for.
class connect_case final : public io_case {
  struct full_server {
    explicit full_server(coracle::io_service& io) : listener(coracle::net::socket::create_tcpv4(io)) {
      listener.bind(any_loopback_port());
      listener.listen(0);
      sockaddr_in to{};
      socklen_t size = sizeof to;
      ::getsockname(listener.native_handle(), reinterpret_cast<sockaddr*>(&to), &size);
      for (coracle::net::socket& each : fillers) {
        static_cast<void>(::connect(each.native_handle(), reinterpret_cast<const sockaddr*>(&to), size));
      }
    }
    coracle::net::socket listener;
    std::array<coracle::net::socket, 2> fillers{coracle::net::socket::create_tcpv4(service_of_cases()),
                                                coracle::net::socket::create_tcpv4(service_of_cases())};
  };
  coracle::task<> operation() override {
    auto& which = completed_ ? udp_ : tcp_;
    try {
      co_await to_its_end(which.connect(server().listener.local_endpoint()));
    } catch (const std::system_error&) {  // the system has given up
    }
    ended_ = true;
  }
  void complete() override {
    completed_ = true;
    ::shutdown(tcp_.native_handle(), SHUT_RDWR);
    io_.process_pending_events();
  }
  void settle() override {
    if (completed_) ::shutdown(tcp_.native_handle(), SHUT_RDWR);  // it may have begun since
    io_case::settle();
  }
  bool intact(bool carried_out, bool) override { return ended_ == carried_out; }
  full_server& server() {
    static full_server one{io_};
    return one;
  }

  coracle::net::socket tcp_ = coracle::net::socket::create_tcpv4(io_);
  coracle::net::socket udp_ = coracle::net::socket::create_udpv4(io_);
  bool ended_ = false;
};

inline std::vector<cancellation_entry> socket_cases() {
  return io_entries({{"socket_recv_operation", &make_case<socket_recv_case>},
                     {"socket_send_operation", &make_case<socket_send_case>},
                     {"socket_send_to_operation", &make_case<send_to_case<datagrams::one>>},
                     {"socket_recv_from_operation", &make_case<recv_from_case<datagrams::one>>},
                     {"recv_batch_operation", &make_case<recv_from_case<datagrams::batch>>},
                     {"send_batch_operation", &make_case<send_to_case<datagrams::batch>>},
                     {"recv_segments_operation", &make_case<recv_from_case<datagrams::segments>>},
                     {"send_segments_operation", &make_case<send_to_case<datagrams::segments>>},
                     {"socket_accept_new_operation", &make_case<accept_case<accepts::new_one>>},
                     {"socket_accept_operation", &make_case<accept_case<accepts::into_another>>},
                     {"socket_accept_on_operation", &make_case<accept_case<accepts::on_service>>},
                     {"socket_connect_operation", &make_case<connect_case>},
                     {"send_all()", &make_case<send_all_case>},
                     {"send_file_operation", &make_case<send_file_case>},
                     {"recv_exactly()", &make_case<recv_exactly_case<tcp_pair>>},
                     {"recv_exactly()", &make_case<recv_exactly_case<unix_ends>>},
                     {"accept_with_backoff()", &make_case<accept_case<accepts::with_backoff>>},
                     {"recv_until()", &make_case<recv_until_case<tcp_pair>>},
                     {"recv_until()", &make_case<recv_until_case<unix_ends>>}});
}
}  // namespace coracle_test
