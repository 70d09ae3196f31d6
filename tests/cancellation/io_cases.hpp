// tests/cancellation/io_cases.hpp -- files and sockets.
// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/send_file.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"
#include "cancellation_case.hpp"

namespace coracle_test {
inline coracle::io_service& service_of_cases() {
  // Never destroyed: a test forks a child that exits, where the threads of this service do not exist.
  static auto* const io = new coracle::io_service;
  return *io;
}
inline const coracle::net::ip_endpoint& any_loopback_port() {
  static const coracle::net::ip_endpoint port =
      coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0};
  return port;
}

/// complete() makes plain system calls and processes the resulting events; settle() processes those that were
/// late.
class io_case : public cancellation_case {
 protected:
  void settle() override {
    io_.process_pending_events();
    while (completed_ && !over_) io_.process_one_event();
  }
  template <class Operation>
  coracle::task<coracle::await_result_t<Operation>> to_its_end(Operation operation) {
    struct at_end {
      bool& over;
      ~at_end() { over = true; }
    } const noted{over_};
    co_return co_await std::move(operation);
  }

  coracle::io_service& io_ = service_of_cases();
  std::atomic<bool> completed_{false};
  bool over_ = false;
  char byte_ = 'x';
};

class socket_recv_case final : public io_case {
  coracle::task<> operation() override {
    co_await to_its_end(coracle::net::socket_recv_operation{pair().second, &byte_, 1, 0, {}});
  }
  void complete() override {
    completed_ = ::send(pair().first.native_handle(), "y", 1, 0) == 1;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    char rest = 0;
    const bool left = ::recv(pair().second.native_handle(), &rest, 1, MSG_DONTWAIT) == 1;
    return left == (completed && !carried_out) && (byte_ == 'y') == carried_out;
  }
  socket_pair& pair() {
    static socket_pair both{io_};
    return both;
  }
};

/// The buffers between the two are full until complete() reads all data.
class full_case : public io_case {
 protected:
  /// In large pieces, and then byte by byte: of many small ones the peer acknowledges the last after 40 ms,
  /// and then TCP has room again, as it has otherwise 200 ms later at the earliest.
  void fill(int from, int to) {
    filled_at_ = std::chrono::steady_clock::now();
    to_ = to;
    constexpr std::array<char, 4096> data{};
    for (const std::size_t at_once : {data.size(), std::size_t{1}}) {
      ssize_t sent;
      while ((sent = ::send(from, data.data(), at_once, MSG_DONTWAIT)) > 0) sent_ += static_cast<int>(sent);
    }
  }
  void complete() override {
    for (int left = sent_; left != 0;) {
      std::array<char, 4096> taken;
      const auto room = static_cast<std::size_t>(std::min(left, 4096));
      left -= static_cast<int>(std::max<ssize_t>(::recv(to_, taken.data(), room, 0), 0));
    }
    received_ = sent_;
    completed_ = true;
    io_.process_pending_events();
  }
  bool may_be_completed() override {
    return std::chrono::steady_clock::now() - filled_at_ > std::chrono::milliseconds{100};
  }
  bool intact(bool carried_out, bool) override {
    std::array<char, 4096> taken;
    pollfd more{to_, POLLIN, 0};
    while (received_ < sent_ + carried_out || ::poll(&more, 1, 0) == 1) {
      received_ += static_cast<int>(std::max<ssize_t>(::recv(to_, taken.data(), taken.size(), 0), 0));
    }
    return received_ == sent_ + carried_out;
  }

 private:
  int to_ = -1, sent_ = 0, received_ = 0;
  std::chrono::steady_clock::time_point filled_at_;
};
class socket_send_case final : public full_case {
 public:
  socket_send_case() {
    const int smallest = 1;
    ::setsockopt(pair_.first.native_handle(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
    fill(pair_.first.native_handle(), pair_.second.native_handle());
  }

 private:
  coracle::task<> operation() override {
    co_await to_its_end(coracle::net::socket_send_operation{pair_.first, &byte_, 1, {}});
  }
  socket_pair pair_{io_};
};

/// Two descriptors owned by the user, such as an inherited pair.
struct stream_pair {
  explicit stream_pair(coracle::io_service& io) : stream_pair(io, made()) {}
  coracle::stream_descriptor first, second;

 private:
  stream_pair(coracle::io_service& io, std::array<int, 2> ends) : first(io, ends[0]), second(io, ends[1]) {}
  static std::array<int, 2> made() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    return ends;
  }
};
class stream_read_case final : public io_case {
  coracle::task<> operation() override {
    co_await to_its_end(pair().second.read_some(std::as_writable_bytes(std::span{&byte_, 1})));
  }
  void complete() override {
    completed_ = ::send(pair().first.native_handle(), "y", 1, 0) == 1;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    char rest = 0;
    const bool left = ::recv(pair().second.native_handle(), &rest, 1, MSG_DONTWAIT) == 1;
    return left == (completed && !carried_out) && (byte_ == 'y') == carried_out;
  }
  stream_pair& pair() {
    static stream_pair both{io_};
    return both;
  }
};
/// One that waits to read, and one that waits to write, are the same but for what they wait for.
class stream_wait_case final : public io_case {
  coracle::task<> operation() override {
    co_await to_its_end(pair_.second.wait_readable());
    ready_ = true;
  }
  void complete() override {
    completed_ = ::send(pair_.first.native_handle(), "y", 1, 0) == 1;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    char rest = 0;
    const bool left = ::recv(pair_.second.native_handle(), &rest, 1, MSG_DONTWAIT) == 1;
    return left == completed && ready_ == carried_out;
  }
  stream_pair pair_{io_};
  bool ready_ = false;
};
class stream_write_case final : public full_case {
 public:
  stream_write_case() {
    const int smallest = 1;
    ::setsockopt(pair_.first.native_handle(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
    fill(pair_.first.native_handle(), pair_.second.native_handle());
  }

 private:
  coracle::task<> operation() override {
    co_await to_its_end(pair_.first.write_some(std::as_bytes(std::span{&byte_, 1})));
  }
  stream_pair pair_{io_};
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
class recv_from_case final : public io_case {
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
  void complete() override {
    completed_ = ::send(pair().sender.native_handle(), "y", 1, 0) == 1;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    char rest = 0;
    const bool left = ::recv(pair().receiver.native_handle(), &rest, 1, MSG_DONTWAIT) == 1;
    return left == (completed && !carried_out) && (byte_ == 'y') == carried_out;
  }
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

/// One byte has arrived, and complete() sends the second.
class half_received_case : public io_case {
 public:
  half_received_case() { send("a"); }

 protected:
  coracle::net::socket& receiver() { return pair().server; }
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
  tcp_pair& pair() {
    static tcp_pair both{io_};
    return both;
  }
};
class recv_exactly_case final : public half_received_case {
  coracle::task<> operation() override {
    co_await to_its_end(receiver().recv_exactly(both_, 2, {}, &received_));
  }
  std::size_t taken() override { return received_; }

  char both_[2];
  std::size_t received_ = 0;
};
class recv_until_case final : public half_received_case {
  coracle::task<> operation() override { co_await to_its_end(receiver().recv_until(text_, "b", 10)); }
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

class signal_case final : public io_case {
  coracle::task<> operation() override { number_ = co_await to_its_end(signals().wait()); }
  void complete() override {
    completed_ = ::kill(::getpid(), its_signal) == 0;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    const auto count_left = [this]() -> coracle::task<int> {
      int left = 0;
      for (;; ++left) {
        const auto first = co_await coracle::when_any(signals().wait(), io_.schedule());
        if (first.index() == 1) co_return left;
      }
    };
    return io_.run(count_left()) == (completed && !carried_out ? 1 : 0) &&
           number_ == (carried_out ? its_signal : 0);
  }
  coracle::signal_set& signals() {
    static coracle::signal_set one{io_, {its_signal}};
    return one;
  }

  const int its_signal = SIGWINCH;  // ignored by default; qemu has fewer real-time signals
  int number_ = 0;
};

/// Two Unix sockets that are connected to each other.
class unix_send_message_case final : public full_case {
 public:
  unix_send_message_case() {
    const int smallest = 1;
    ::setsockopt(pair_.first.native_handle(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
    fill(pair_.first.native_handle(), pair_.second.native_handle());
  }

 private:
  coracle::task<> operation() override {
    co_await to_its_end(pair_.first.send_message(std::as_bytes(std::span{&byte_, 1}), {}));
  }
  coracle::net::unix_pair pair_ = coracle::net::make_unix_pair(io_);
};
class unix_recv_message_case final : public io_case {
  coracle::task<> operation() override {
    const auto received = co_await to_its_end(
        pair().second.recv_message(std::as_writable_bytes(std::span{&byte_, 1}), passed_));
    got_descriptor_ = received.descriptors == 1;
  }
  void complete() override {
    const std::array<int, 1> passed{STDERR_FILENO};
    io_.run(pair().first.send_message(std::as_bytes(std::span{&its_byte, 1}), passed));
    completed_ = true;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    char rest = 0;
    const bool left = ::recv(pair().second.native_handle(), &rest, 1, MSG_DONTWAIT) == 1;
    return left == (completed && !carried_out) && (byte_ == 'y') == carried_out &&
           got_descriptor_ == carried_out && passed_[0].is_open() == carried_out;
  }
  coracle::net::unix_pair& pair() {
    static coracle::net::unix_pair both = coracle::net::make_unix_pair(io_);
    return both;
  }

  static constexpr char its_byte = 'y';
  std::array<coracle::owned_descriptor, 1> passed_;
  bool got_descriptor_ = false;
};
class unix_accept_case final : public io_case {
  coracle::task<> operation() override {
    accepted_ = co_await to_its_end(listener().accept());
    connected_ = true;
  }
  void complete() override {
    client_ = coracle::owned_descriptor{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    completed_ = connect(client_.get());
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    if (completed && !carried_out) {
      ::close(::accept(listener().native_handle(), nullptr, nullptr));
    }
    const int more = ::accept4(listener().native_handle(), nullptr, nullptr, SOCK_NONBLOCK);
    return more < 0 && connected_ == carried_out;
  }
  bool connect(int fd) {
    const coracle::net::unix_address to = listener().local_address();
    return ::connect(fd, static_cast<const sockaddr*>(to.native()), to.native_size()) == 0;
  }
  coracle::net::unix_socket& listener() {
    static coracle::net::unix_socket one = [this] {
      auto made = coracle::net::unix_socket::create(io_, coracle::net::unix_kind::stream);
      made.bind(coracle::net::unix_address::abstract("coracle-cases-" + std::to_string(::getpid())));
      made.listen();
      return made;
    }();
    return one;
  }

  coracle::net::unix_socket accepted_ =
      coracle::net::unix_socket::create(io_, coracle::net::unix_kind::stream);
  coracle::owned_descriptor client_;
  bool connected_ = false;
};

class process_wait_case final : public io_case {
  coracle::task<> operation() override {
    const coracle::exit_status status = co_await to_its_end(child_.wait());
    was_killed_ = status.signal() == SIGKILL;
  }
  void complete() override {
    child_.signal(SIGKILL);
    completed_ = true;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    if (was_killed_ != carried_out) return false;
    if (!completed) child_.signal(SIGKILL);
    return io_.run(child_.wait()).signal() == SIGKILL;  // known also if nobody has waited for it
  }

  coracle::process child_{io_, coracle::command{"/bin/sleep", "1000"}};
  bool was_killed_ = false;
};

/// All file threads are blocked in reads from empty pipes until complete().
class file_case : public io_case {
 protected:
  ~file_case() override {
    if (!completed_) let_go();
    for (held_thread& each : held_) {
      while (!each.reading.done()) io_.process_one_event();
    }
  }
  void complete() override {
    completed_ = true;
    let_go();
  }

 private:
  struct held_thread {
    explicit held_thread(coracle::io_service& io)
        : ends(io, io_descriptor_kind::file),
          reading(started(raw_operation(ends.read, io_opcode::read, &byte, 1))) {}
    pipe_ends ends;
    char byte = 0;
    test_coroutine reading;
  };
  void let_go() {
    for (held_thread& each : held_) static_cast<void>(!::write(each.ends.write.native_handle(), "x", 1));
  }
  std::array<held_thread, 4> held_{held_thread{io_}, held_thread{io_}, held_thread{io_}, held_thread{io_}};
};
/// A file whose contents the system generates is never in the page cache, so reading it takes a thread.
template <bool Whole>
class read_at_case final : public file_case {
  coracle::task<> operation() override {
    if constexpr (Whole) {
      co_await to_its_end(version().read_exactly(0, &byte_, 1));
    } else {
      co_await to_its_end(version().read(0, &byte_, 1));
    }
  }
  bool intact(bool carried_out, bool) override { return (byte_ == 'L') == carried_out; }
  coracle::read_only_file& version() {
    static auto file = coracle::read_only_file::open(io_, "/proc/version");
    return file;
  }
};
/// A file whose writes wait for the device, and so take a thread.
inline coracle::write_only_file temporary_file(coracle::io_service& io) {
  const auto path = std::filesystem::temp_directory_path() / ("coracle_case_" + std::to_string(::getpid()));
  auto file = coracle::write_only_file::open(io, path, coracle::file_open_mode::create_always,
                                             coracle::file_share_mode::none,
                                             coracle::file_buffering_mode::write_through);
  std::filesystem::remove(path);
  return file;
}
template <bool Whole>
class write_at_case final : public file_case {
  coracle::task<> operation() override {
    if constexpr (Whole) {
      co_await to_its_end(file_.write_all(0, &byte_, 1));
    } else {
      co_await to_its_end(file_.write(0, &byte_, 1));
    }
  }
  bool intact(bool carried_out, bool) override { return file_.size() == (carried_out ? 1u : 0u); }
  coracle::write_only_file file_ = temporary_file(io_);
};
class sync_case final : public file_case {
  coracle::task<> operation() override {
    co_await to_its_end(file_.sync());
    synced_ = true;
  }
  bool intact(bool carried_out, bool) override { return synced_ == carried_out; }
  coracle::write_only_file file_ = temporary_file(io_);
  bool synced_ = false;
};

/// Operations on paths take a thread each, or a round trip through the ring.
class path_case : public file_case {
 protected:
  path_case() { ::close(::creat(before_.c_str(), 0600)); }
  ~path_case() override {
    ::unlink(before_.c_str());
    ::unlink(after_.c_str());
  }
  bool intact(bool carried_out, bool) override { return done_ == carried_out; }

  const std::string before_ =
      std::filesystem::temp_directory_path() / ("coracle_a" + std::to_string(::getpid()));
  const std::string after_ = before_ + "_renamed";
  bool done_ = false;
};
class rename_case final : public path_case {
  coracle::task<> operation() override {
    co_await to_its_end(coracle::filesystem::rename(io_, before_, after_));
    done_ = true;
  }
  bool intact(bool carried_out, bool completed) override {
    return path_case::intact(carried_out, completed) && (::access(after_.c_str(), F_OK) == 0) == carried_out;
  }
};
class status_case final : public path_case {
  coracle::task<> operation() override {
    const auto about = co_await to_its_end(coracle::filesystem::status(io_, before_));
    done_ = about.is_regular_file();
  }
};
class exists_case final : public path_case {
  coracle::task<> operation() override {
    done_ = co_await to_its_end(coracle::filesystem::exists(io_, before_));
  }
};
class open_case final : public path_case {
  coracle::task<> operation() override {
    const auto file = co_await to_its_end(coracle::filesystem::open_read_only(io_, before_));
    done_ = file.native_handle() >= 0;
  }
};

inline std::vector<cancellation_entry> io_cases() {
  constexpr auto at_once = when_stopped::ends_at_once;
  constexpr auto alone = in_races::alone;
  return {{"socket_recv_operation", &make_case<socket_recv_case>, at_once, true, alone},
          {"socket_send_operation", &make_case<socket_send_case>, at_once, true, alone},
          {"socket_send_to_operation", &make_case<send_to_case<datagrams::one>>, at_once, true, alone},
          {"socket_recv_from_operation", &make_case<recv_from_case<datagrams::one>>, at_once, true, alone},
          {"recv_batch_operation", &make_case<recv_from_case<datagrams::batch>>, at_once, true, alone},
          {"send_batch_operation", &make_case<send_to_case<datagrams::batch>>, at_once, true, alone},
          {"recv_segments_operation", &make_case<recv_from_case<datagrams::segments>>, at_once, true, alone},
          {"send_segments_operation", &make_case<send_to_case<datagrams::segments>>, at_once, true, alone},
          {"socket_accept_new_operation", &make_case<accept_case<accepts::new_one>>, at_once, true, alone},
          {"socket_accept_operation", &make_case<accept_case<accepts::into_another>>, at_once, true, alone},
          {"socket_accept_on_operation", &make_case<accept_case<accepts::on_service>>, at_once, true, alone},
          {"socket_connect_operation", &make_case<connect_case>, at_once, true, alone},
          {"signal_wait_operation", &make_case<signal_case>, at_once, true, alone},
          {"send_all()", &make_case<send_all_case>, at_once, true, alone},
          {"send_file_operation", &make_case<send_file_case>, at_once, true, alone},
          {"recv_exactly()", &make_case<recv_exactly_case>, at_once, true, alone},
          {"accept_with_backoff()", &make_case<accept_case<accepts::with_backoff>>, at_once, true, alone},
          {"recv_until()", &make_case<recv_until_case>, at_once, true, alone},
          {"stream_read_operation", &make_case<stream_read_case>, at_once, true, alone},
          {"stream_write_operation", &make_case<stream_write_case>, at_once, true, alone},
          {"stream_wait_operation", &make_case<stream_wait_case>, at_once, true, alone},
          {"unix_accept_operation", &make_case<unix_accept_case>, at_once, true, alone},
          {"unix_send_message_operation", &make_case<unix_send_message_case>, at_once, true, alone},
          {"unix_recv_message_operation", &make_case<unix_recv_message_case>, at_once, true, alone},
          {"process_wait_operation", &make_case<process_wait_case>, at_once, true, alone},
          {"file_read_operation", &make_case<read_at_case<false>>, at_once, true, alone},
          {"file_write_operation", &make_case<write_at_case<false>>, at_once, true, alone},
          {"read_exactly()", &make_case<read_at_case<true>>, at_once, true, alone},
          {"write_all()", &make_case<write_at_case<true>>, at_once, true, alone},
          {"change_operation", &make_case<rename_case>, at_once, true, alone},
          {"status_operation", &make_case<status_case>, at_once, true, alone},
          {"exists_operation", &make_case<exists_case>, at_once, true, alone},
          {"open_operation", &make_case<open_case>, at_once, true, alone},
          {"file_sync_operation", &make_case<sync_case>, at_once, true, alone}};
}
}  // namespace coracle_test
