// tests/cancellation/tls_cases.hpp -- a handshake, a read and a write over TLS.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/tls/stream.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "../support/detached.hpp"
#include "../support/tls_identity.hpp"
#include "io_case.hpp"

namespace coracle_test {
/// Both ends of a connection.
struct tls_ends {
  using stream = coracle::tls::stream<coracle::net::unix_socket>;

  explicit tls_ends(coracle::io_service& service)
      : tls_ends(service, coracle::net::make_unix_pair(service)) {}
  void shake_hands() { io.run(coracle::when_all(client.handshake(), server.handshake())); }
  /// What the client has sent by now, each byte once.
  std::string heard_by_server() {
    const auto hear = [this]() -> coracle::task<std::string> {
      std::string all, piece(100, ' ');
      for (;;) {
        const std::size_t size = co_await server.read_some(piece);
        if (size == 0) co_return all;
        all.append(piece, 0, size);
      }
    };
    return std::get<0>(io.run(coracle::when_all(hear(), client.shutdown())));
  }

  coracle::io_service& io;
  stream client, server;

 private:
  tls_ends(coracle::io_service& service, coracle::net::unix_pair pair)
      : io(service),
        client(std::move(pair.first), of_client(), "server"),
        server(std::move(pair.second), of_server()) {}
  static const coracle::tls::context& of_client() {
    static const auto one = coracle::tls::context::client_trusting(test_authority().certificate());
    return one;
  }
  static const coracle::tls::context& of_server() {
    static const auto one = coracle::tls::context::server(test_server().certificate, test_server().key);
    return one;
  }
};

class tls_read_case final : public io_case {
 public:
  tls_read_case() { ends_.shake_hands(); }

 private:
  coracle::task<> operation() override { co_await to_its_end(ends_.server.read_some(&byte_, 1)); }
  void complete() override {
    io_.run(ends_.client.send_all("y"));
    completed_ = true;
    io_.process_pending_events();
  }
  bool intact(bool carried_out, bool completed) override {
    const bool is_left = completed && !carried_out;
    return (byte_ == 'y') == carried_out && ends_.heard_by_server() == (is_left ? "y" : "");
  }

  tls_ends ends_{io_};
};

/// Waits until what an earlier write had to leave has been sent.
class tls_write_case final : public full_case {
 public:
  tls_write_case() {
    ends_.shake_hands();
    shrink_and_fill(ends_.client.below().native_handle(), ends_.server.below().native_handle());
    coracle::stop_source stop;
    bool is_taken = false;
    const auto write = [&]() -> coracle::task<> {
      is_taken = co_await coracle::with_stop(ends_.client.write_some("a"), stop.get_token()) == 1;
    };
    run_detached(write());
    stop.request_stop();
    while (!is_taken) io_.process_one_event();
  }

 private:
  coracle::task<> operation() override { co_await to_its_end(ends_.client.write_some("b")); }
  void complete() override {
    is_empty_ = true;
    full_case::complete();
  }
  bool intact(bool carried_out, bool) override {
    if (!is_empty_) full_case::complete();
    return ends_.heard_by_server() == (carried_out ? "ab" : "a");
  }

  tls_ends ends_{io_};
  bool is_empty_ = false;
};

class tls_handshake_case final : public io_case {
  coracle::task<> operation() override { co_await to_its_end(ends_.client.handshake()); }
  void complete() override {
    answer();
    completed_ = true;
    io_.process_pending_events();
  }
  /// One that was stopped goes on.
  bool intact(bool, bool completed) override {
    if (!completed) answer();
    io_.run(ends_.client.handshake());
    while (!has_answered_) io_.process_one_event();
    return ends_.heard_by_server().empty();
  }
  void answer() { run_detached(shake_hands()); }
  coracle::task<> shake_hands() {
    co_await ends_.server.handshake();
    has_answered_ = true;
  }

  tls_ends ends_{io_};
  std::atomic<bool> has_answered_{false};
};

inline std::vector<cancellation_entry> tls_cases() {
  return io_entries({{"tls::stream::handshake()", &make_case<tls_handshake_case>},
                     {"tls::stream::read_some()", &make_case<tls_read_case>},
                     {"tls::stream::write_some()", &make_case<tls_write_case>}});
}
}  // namespace coracle_test
