// tests/simulation/tls.cpp -- TLS on a network that moves few bytes at a time, and with stop requests at any
// moment, also in the handshake: both sides send and receive concurrently, and get each byte once and in its
// place; only an end that the other side has sent is an end.
// SPDX-License-Identifier: MIT
#include <openssl/ssl.h>

#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/tls/stream.hpp>
#include <string>
#include <system_error>

#include "../support/tls_identity.hpp"
#include "world.hpp"

namespace {
using coracle::net::socket;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle::testing::simulation;
using coracle_test::task;
using coracle_test::world;
using namespace std::chrono_literals;
using secure_socket = coracle::tls::stream<socket>;

const coracle::tls::context& of_server() {
  static const coracle::tls::context made = [] {
    const coracle_test::identity& its = coracle_test::test_server();
    auto context = coracle::tls::context::server(its.certificate, its.key);
    // The size of a ticket differs from run to run. Everything else that is sent has the same size each time,
    // so a seed that fails fails every time.
    SSL_CTX_set_num_tickets(context.native_handle(), 0);
    return context;
  }();
  return made;
}
const coracle::tls::context& of_client() {
  static const auto made =
      coracle::tls::context::client_trusting(coracle_test::test_authority().certificate());
  return made;
}

/// What one side sends, and whether it has ended its stream.
struct speech {
  std::string text;
  bool is_ended = false;
};

/// More than the network keeps, so that a side that does not receive while it sends would stop the other.
speech any_speech(world& w, char first) {
  speech made{std::string(w.below(w.one_in(4) ? 200'000 : 3000), first)};
  for (std::size_t i = 0; i < made.text.size(); i += 7)
    made.text[i] = static_cast<char>(first + static_cast<int>(i % 20));
  return made;
}

/// A connection may break without notice to this side.
template <class Work>
auto patiently(Work work) {
  return coracle::timeout(std::move(work), 10min);
}

task<> shake_hands(world& w, secure_socket& side) {
  bool is_over = false;
  while (!is_over) is_over = co_await w.attempt(patiently(side.handshake()));
}
task<> speak(world& w, secure_socket& to, speech& all) {
  for (std::size_t sent = 0; sent != all.text.size();) {
    const std::size_t most = 1 + w.below(40'000);
    const auto taken = co_await w.attempt(patiently(to.write_some(all.text.substr(sent, most))));
    if (taken) sent += *taken;
  }
  co_await patiently(to.shutdown());
  all.is_ended = true;
}
task<> hear(world& w, secure_socket& from, const speech& expected) {
  std::size_t heard = 0;
  std::array<char, 5000> buffer;
  for (;;) {
    const std::span<char> room{buffer.data(), 1 + w.below(buffer.size())};
    const auto size = co_await w.attempt(patiently(from.read_some(room)));
    if (!size) continue;
    if (*size == 0) break;
    const bool same = expected.text.compare(heard, *size, room.data(), *size) == 0;
    w.expect(same, "each byte comes once, in its place");
    heard += *size;
  }
  w.expect(heard == expected.text.size() && expected.is_ended, "a stream that ends is complete");
}

/// A connection with both its sides.
struct line {
  explicit line(world& w, const coracle::testing::network_faults& faults) : network(w.sim, faults) {}
  task<> open() {
    socket listener = socket::create_tcpv4(far.io());
    listener.bind(coracle::net::ip_endpoint{far.address(), 443});
    listener.listen();
    auto [accepted, ignored] =
        co_await coracle::when_all(listener.accept(), out.connect(listener.local_endpoint()));
    static_cast<void>(ignored);
    in = std::move(accepted);
  }

  simulated_network network;
  simulated_host near{network, "10.0.0.1"}, far{network, "10.0.0.2"};
  socket out = socket::create_tcpv4(near.io()), in = socket::create_tcpv4(far.io());
};

task<> converse(world& w, line& between, speech& question, speech& answer) {
  co_await between.open();
  secure_socket client{std::move(between.out), of_client(), "server"};
  secure_socket server{std::move(between.in), of_server()};
  co_await coracle::when_all(shake_hands(w, client), shake_hands(w, server));
  co_await coracle::when_all(speak(w, client, question), hear(w, server, question), speak(w, server, answer),
                             hear(w, client, answer));
}

void conversation(simulation& sim) {
  world w{sim};
  line between{w, {.short_transfers = 3}};
  speech question = any_speech(w, 'a'), answer = any_speech(w, 'A');
  sim.run(converse(w, between, question, answer));
}

/// A connection that breaks is an error, not an end.
void cut(simulation& sim) {
  world w{sim};
  line between{w, {.resets = 20, .short_transfers = 3}};
  speech question = any_speech(w, 'a'), answer = any_speech(w, 'A');
  bool is_whole = false;
  const auto try_to = [&]() -> task<> {
    try {
      co_await converse(w, between, question, answer);
      is_whole = true;
    } catch (const coracle::timed_out&) {
    } catch (const coracle::tls::error&) {
    } catch (const std::system_error&) {
    } catch (const coracle::error_group&) {
    }
  };
  sim.run(try_to());
  w.expect(!is_whole || (question.is_ended && answer.is_ended),
           "only whole conversations end without an error");
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"a conversation", &conversation}, {"a connection is cut", &cut}});
}
