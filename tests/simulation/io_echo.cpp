// tests/simulation/io_echo.cpp -- an echo server and its clients on a network with every fault: a client gets
// back what it sent, or an error; no client waits forever; the server stops on request.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <string>
#include <system_error>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::net::ipv4_endpoint;
using coracle::net::socket;
using coracle::testing::network_faults;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle_test::task;
using coracle_test::world;

const coracle::net::ip_endpoint port{ipv4_endpoint{{}, 7}};

/// A network with one server and several clients.
struct town {
  explicit town(coracle::testing::simulation& sim, const network_faults& faults)
      : w(sim), network(sim, faults) {}
  [[nodiscard]] coracle::net::ip_endpoint address() const {
    return coracle::net::ip_endpoint{server.address(), port.port()};
  }

  world w;
  simulated_network network;
  simulated_host server{network, "10.0.0.1"}, near{network, "10.0.0.2"}, far{network, "10.0.0.3"};
  coracle::stop_source shutdown{};
  int exchanged = 0, errors = 0;
};

// ---- the server ----------------------------------------------------------------------------------------

task<> echo(socket client) {
  std::array<char, 300> buffer;
  for (;;) {
    // A client may disappear without closing its connection.
    const std::size_t size = co_await coracle::timeout(client.recv(buffer.data(), buffer.size()), 10min);
    if (size == 0) break;
    co_await client.send_all(buffer.data(), size);
  }
}
task<> serve_one(town& t, socket client) {
  try {
    co_await echo(std::move(client));
  } catch (const std::system_error&) {
    ++t.errors;
  } catch (const coracle::timed_out&) {
    ++t.errors;
  }
}

/// Continues after an error: descriptors may become free again.
task<> accept_clients(town& t, socket& listener, coracle::async_scope& clients) {
  for (;;) {
    bool failed = false;
    try {
      socket client = co_await listener.accept();
      clients.spawn(serve_one(t, std::move(client)));
    } catch (const std::system_error&) {
      failed = true;
    }
    if (failed) co_await coracle::sleep_for(100ms);
  }
}
task<> serve(town& t) {
  co_await t.server.io().schedule();
  socket listener = socket::create_tcpv4(t.server.io());
  listener.bind(port);
  listener.listen();
  coracle::async_scope clients;
  try {
    co_await coracle::with_stop(accept_clients(t, listener, clients), t.shutdown.get_token());
  } catch (const coracle::operation_cancelled&) {
    t.w.expect(t.shutdown.stop_requested(), "the server stops when it is asked to, and not before");
  }
  clients.request_stop();
  co_await clients.join();
}

// ---- the clients ---------------------------------------------------------------------------------------

/// Sends `text` and the end of the stream while it receives, and checks each byte that comes back.
task<> converse(town& t, socket& connection, const std::string& text) {
  std::size_t returned = 0;
  bool sent = false;
  const auto talk = [&]() -> task<> {
    try {
      co_await connection.send_all(text.data(), text.size());
      connection.close_send();
      sent = true;
    } catch (const std::system_error&) {
      ++t.errors;
    }
  };
  const auto listen = [&]() -> task<> {
    std::array<char, 200> buffer;
    for (;;) {
      const std::size_t size = co_await connection.recv(buffer.data(), buffer.size());
      if (size == 0) break;
      const bool same = text.compare(returned, size, buffer.data(), size) == 0;
      t.w.expect(same, "each byte comes back, once, in its place");
      returned += size;
    }
  };
  co_await coracle::when_all(talk(), listen());
  const bool stops = t.shutdown.stop_requested();
  t.w.expect(!sent || returned == text.size() || stops, "a stream that ends without an error is complete");
  ++t.exchanged;
}
task<> ask(town& t, simulated_host& from, const std::string& text) {
  socket connection = socket::create_tcpv4(from.io());
  co_await connection.connect(t.address());
  co_await converse(t, connection, text);
}
task<> be_client(town& t, simulated_host& from, int number) {
  co_await from.io().schedule();
  for (int i = 0; i != 3; ++i) {
    const auto delay = std::chrono::milliseconds{t.w.below(200)};
    const auto before = coracle::steady_now();
    co_await coracle::sleep_for(delay);
    t.w.expect(coracle::steady_now() == before + delay, "a timer of an io_service fires at its time");
    const std::string text(1 + t.w.below(t.w.one_in(16) ? 100'000 : 1000), static_cast<char>('a' + number));
    try {
      co_await coracle::timeout(ask(t, from, text), 10min);
    } catch (const std::system_error&) {
      ++t.errors;
    } catch (const coracle::timed_out&) {
      ++t.errors;
    }
  }
}

// ---- further faults ------------------------------------------------------------------------------------

task<> make_weather(town& t) {
  for (int i = 0; i != 4; ++i) {
    co_await coracle::sleep_for(std::chrono::milliseconds{t.w.below(200)});
    switch (t.w.below(5)) {
      case 0:
        t.network.part(t.server.address(), t.near.address());
        break;
      case 1:
        t.network.heal();
        break;
      case 2:
        t.network.reset_connections();
        break;
      case 3:
        t.near.crash();  // its connections are half open: the server hears of it when it sends, or never
        break;
      default:
        t.server.limit_descriptors(1 + t.w.below(6));
        break;
    }
  }
  t.server.limit_descriptors(100);
  co_await coracle::sleep_for(1h);
  t.network.heal();
}

task<> run_clients(town& t, bool with_weather) {
  const auto weather = [&]() -> task<> {
    if (with_weather) co_await make_weather(t);
  };
  const auto stop_server = [&]() noexcept { t.shutdown.request_stop(); };
  const auto at_end = coracle::on_scope_exit(stop_server);
  co_await coracle::when_all(be_client(t, t.near, 0), be_client(t, t.far, 1), be_client(t, t.far, 2),
                             weather());
}

/// In a third of the seeds, the server is stopped in the middle.
task<> stop_early(town& t) {
  if (!t.w.one_in(3)) co_return;
  co_await coracle::sleep_for(std::chrono::milliseconds{t.w.below(1000)});
  t.shutdown.request_stop();
}

void run(town& t, bool with_weather) {
  t.w.sim.run(coracle::when_all(serve(t), run_clients(t, with_weather), stop_early(t)));
  for (simulated_host* const each : {&t.server, &t.near, &t.far}) {
    t.w.expect(each->open_descriptors() == 0, "no socket is left open");
  }
}

void fair_weather(coracle::testing::simulation& sim) {
  town t{sim, {}};
  run(t, false);
  t.w.expect(t.errors == 0 || t.shutdown.stop_requested(), "nothing goes wrong by itself");
}
void storm(coracle::testing::simulation& sim) {
  town t{sim, network_faults::harsh()};
  run(t, true);
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv, {{"fair weather", fair_weather}, {"storm", storm}});
}
