// tests/simulation/io_datagrams.cpp -- requests and replies over UDP, whose datagrams are lost, duplicated,
// delayed and reordered: each request gets its own reply, or the client gives up. Without faults it never
// gives up.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <optional>
#include <system_error>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::net::ip_endpoint;
using coracle::net::socket;
using coracle::testing::network_faults;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle::testing::simulation;
using coracle_test::task;
using coracle_test::world;

struct question {
  int client, number, attempt;
};
struct answer {
  question to;
  int square;
};

struct town {
  town(simulation& sim, const network_faults& faults) : w(sim), network(sim, faults) {}
  world w;
  simulated_network network;
  simulated_host server{network, "fd00::1"}, client{network, "fd00::2"};
  const ip_endpoint address{server.address(), 53};
  coracle::stop_source shutdown{};
  int answered = 0, asked_again = 0, given_up = 0;
};

task<> serve(town& t) {
  co_await t.server.io().schedule();
  socket mine = socket::create_udpv6(t.server.io());
  mine.bind(t.address);
  try {
    for (;;) {
      question q{};
      const auto received = co_await mine.recv_from(&q, sizeof q, t.shutdown.get_token());
      t.w.expect(std::get<0>(received) == sizeof q, "a datagram arrives whole");
      t.w.expect(std::get<1>(received).address() == t.client.address(), "its sender is known");
      const answer a{q, q.number * q.number};
      co_await mine.send_to(std::get<1>(received), &a, sizeof a, t.shutdown.get_token());
    }
  } catch (const coracle::operation_cancelled&) {
  }
}

/// Drops replies to earlier requests.
task<answer> answer_to(socket& mine, const question& q) {
  answer a{};
  for (bool found = false; !found;) {
    const std::size_t size = co_await mine.recv(&a, sizeof a);
    found = size == sizeof a && a.to.number == q.number;
  }
  co_return a;
}

task<bool> ask(town& t, socket& mine, question q) {
  for (; q.attempt != 8; ++q.attempt) {
    co_await mine.send(&q, sizeof q);
    std::optional<answer> found;
    try {
      found = co_await coracle::timeout(answer_to(mine, q), 300ms);
    } catch (const coracle::timed_out&) {
      ++t.asked_again;
    }
    if (!found) continue;
    t.w.expect(found->to.client == q.client, "an answer comes to who asked");
    t.w.expect(found->to.attempt <= q.attempt && found->square == q.number * q.number, "it is the answer");
    co_return true;
  }
  co_return false;
}

task<> be_client(town& t, int number) {
  co_await t.client.io().schedule();
  socket mine = socket::create_udpv6(t.client.io());
  co_await mine.connect(t.address);
  for (int i = 0; i != 8; ++i) {
    const bool answered = co_await ask(t, mine, {number, i, 0});
    ++(answered ? t.answered : t.given_up);
  }
}

void run(town& t) {
  const auto clients = [&]() -> task<> {
    const auto stop = [&]() noexcept { t.shutdown.request_stop(); };
    const auto at_end = coracle::on_scope_exit(stop);
    co_await coracle::sleep_for(1ms);  // the server is there
    co_await coracle::when_all(be_client(t, 1), be_client(t, 2), be_client(t, 3));
  };
  t.w.sim.run(coracle::when_all(serve(t), clients()));
  t.w.expect(t.answered + t.given_up == 24, "each question is answered or given up");
  const bool closed = t.server.open_descriptors() == 0 && t.client.open_descriptors() == 0;
  t.w.expect(closed, "no socket is left open");
}

void fair_weather(simulation& sim) {
  town t{sim, {}};
  run(t);
  t.w.expect(t.answered == 24 && t.asked_again == 0, "nothing is lost by itself");
}
void storm(simulation& sim) {
  network_faults faults = network_faults::harsh();
  faults.lost = 3;
  faults.duplicated = 3;
  faults.most_latency = 200ms;
  town t{sim, faults};
  run(t);
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv, {{"fair weather", fair_weather}, {"storm", storm}});
}
