// tests/unit/simulated_host_test.cpp -- what only simulated hosts have: seeds, time, partitions, crashes.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/timer_service.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace {
using namespace std::chrono_literals;
using coracle::task;
using coracle::net::ip_endpoint;
using coracle::net::socket;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle::testing::simulation;

struct town {
  explicit town(std::uint64_t seed = 1, const coracle::testing::network_faults& faults = {})
      : sim(seed), network(sim, faults) {}
  simulation sim;
  simulated_network network;
  simulated_host near{network, "10.0.0.1"}, far{network, "10.0.0.2"};
  const ip_endpoint address{far.address(), 80};
};
struct connection {
  socket listener, client, server;
};
task<connection> connected(town& t) {
  connection c{socket::create_tcpv4(t.far.io()), socket::create_tcpv4(t.near.io()),
               socket::create_tcpv4(t.far.io())};
  c.listener.bind(t.address);
  c.listener.listen();
  co_await coracle::when_all(c.client.connect(t.address), c.listener.accept(c.server));
  co_return c;
}
template <class Awaitable>
task<std::error_code> error_of(Awaitable work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const std::system_error& error) {
    co_return error.code();
  }
  co_return std::error_code{};
}

task<> exchange(town& t) {
  connection c = co_await connected(t);
  std::array<char, 100> buffer{};
  std::size_t sent = 0, got = 0;
  while (sent != buffer.size()) {
    const std::size_t size = co_await c.client.send(buffer.data(), buffer.size() - sent);
    sent += size;
  }
  while (got != buffer.size()) {
    const std::size_t size = co_await c.server.recv(buffer.data(), buffer.size());
    got += size;
  }
}

TEST_CASE("simulated host: the same seed gives the same trace, another seed another") {
  const auto hash = [](std::uint64_t seed) {
    coracle::testing::network_faults faults;
    faults.short_transfers = 2;
    town t{seed, faults};
    t.sim.run(exchange(t));
    return t.sim.trace().hash();
  };
  CHECK(hash(7) == hash(7));
  CHECK(hash(7) != hash(8));
}

TEST_CASE("simulated host: nobody at an address: connect() gives up after a minute, as the system does") {
  town t;
  t.sim.run([&]() -> task<> {
    socket client = socket::create_tcpv4(t.near.io());
    const ip_endpoint nobody{coracle::net::ipv4_address(10, 9, 9, 9), 80};
    const auto before = coracle::steady_now();
    CHECK(co_await error_of(client.connect(nobody)) == std::errc::timed_out);
    CHECK(coracle::steady_now() - before >= 63s);
    CHECK(coracle::steady_now() - before < 64s);
  }());
}

/// Sends the given number of bytes one way, and returns the time until the last one has arrived.
task<std::chrono::nanoseconds> time_to_send(socket& from, socket& to, std::size_t size) {
  const auto before = coracle::steady_now();
  const std::string bytes(size, 'b');
  const auto send = [&]() -> task<> {
    for (std::size_t sent = 0; sent != size;) sent += co_await from.send(bytes.data() + sent, size - sent);
  };
  const auto receive = [&]() -> task<> {
    std::string buffer(size, ' ');
    for (std::size_t got = 0; got != size;) got += co_await to.recv(buffer.data(), size);
  };
  co_await coracle::when_all(send(), receive());
  co_return coracle::steady_now() - before;
}

TEST_CASE("simulated host: a connection takes the time that its bytes need, each direction by itself") {
  coracle::testing::network_faults faults;
  faults.bytes_per_second = 100'000;
  town t{1, faults};
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    const auto [there, back] = co_await coracle::when_all(time_to_send(c.client, c.server, 1'000'000),
                                                          time_to_send(c.server, c.client, 500'000));
    CHECK(there >= 10s);
    CHECK(there < 11s);
    CHECK(back >= 5s);
    CHECK(back < 6s);
    CHECK(co_await time_to_send(c.client, c.server, 1) < 10ms);  // one byte need not wait
  }());
}

TEST_CASE("simulated host: a peer that reads slowly slows the sender down, and nothing is lost") {
  town t;
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    constexpr std::size_t size = 1'000'000, sip = 10'000;
    std::size_t sent = 0, got = 0, most_ahead = 0;
    const auto send = [&]() -> task<> {
      const std::string bytes(size, 'b');
      while (sent != size) {
        sent += co_await c.client.send(bytes.data(), size - sent);
        most_ahead = std::max(most_ahead, sent - got);
      }
    };
    const auto receive = [&]() -> task<> {
      std::string buffer(sip, ' ');
      while (got != size) {
        co_await coracle::sleep_for(1s);
        got += co_await c.server.recv(buffer.data(), sip);
      }
    };
    const auto before = coracle::steady_now();
    co_await coracle::when_all(send(), receive());
    CHECK(coracle::steady_now() - before >= 100s);
    CHECK(most_ahead <= 64 * 1024 + sip);
  }());
}

TEST_CASE("simulated host: what is sent in a partition arrives when it has healed") {
  town t;
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    t.network.part(t.near.address(), t.far.address());
    co_await c.client.send("ab", 2);
    t.sim.at(t.sim.now() + 5min, [&] { t.network.heal(); });
    char byte = 0;
    CHECK(co_await c.server.recv(&byte, 1) == 1);
    CHECK(byte == 'a');
    CHECK(t.sim.now() - coracle::testing::virtual_clock::start > 5min);
  }());
}

TEST_CASE("simulated host: in a partition that does not heal, the sender gives up after 15 minutes") {
  town t;
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    t.network.part(t.near.address(), t.far.address());
    co_await c.client.send("a", 1);
    char byte = 0;
    CHECK(co_await error_of(c.client.recv(&byte, 1)) == std::errc::timed_out);
    CHECK(t.sim.now() - coracle::testing::virtual_clock::start > 15min);
  }());
}

TEST_CASE("simulated host: what is still on its way when the sender gives up never arrives") {
  town t;
  t.network.set_faults({.least_latency = 1ms, .most_latency = 1ms});
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    t.network.part(t.near.address(), t.far.address());
    co_await c.client.send("a", 1);
    co_await coracle::sleep_for(924s + 500us);  // half a millisecond before the sender gives up
    co_await c.client.send("b", 1);
    t.sim.at(t.sim.now() + 700us, [&] { t.network.heal(); });
    char byte = 0;
    CHECK(co_await error_of(c.client.recv(&byte, 1)) == std::errc::timed_out);
    const auto arrived = co_await coracle::as_optional(coracle::stop_after(c.server.recv(&byte, 1), 1h));
    CHECK(!arrived);
  }());
}

TEST_CASE("simulated host: a peer that has crashed is heard of by who sends, and not before") {
  town t;
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    t.far.crash();
    CHECK(co_await error_of(c.server.send("x", 1)) == std::errc::network_down);
    co_await coracle::sleep_for(1h);
    CHECK(co_await c.client.send("x", 1) == 1);
    char byte = 0;
    CHECK(co_await error_of(c.client.recv(&byte, 1)) == std::errc::connection_reset);
  }());
}

TEST_CASE(
    "simulated host: a receiver that waits for a peer that has crashed waits for ever, and is told so") {
  town t;
  const auto wait = [&]() -> task<> {
    connection c = co_await connected(t);
    t.far.crash();
    char byte = 0;
    co_await c.client.recv(&byte, 1);
  };
  CHECK_THROWS_AS(t.sim.run(wait()), coracle::testing::simulation_failure);
}

TEST_CASE("simulated host: a sender whose peer has crashed does not wait for room for ever") {
  town t;
  t.sim.run([&]() -> task<> {
    connection c = co_await connected(t);
    const auto fill = [&]() -> task<> {
      const std::string block(10'000, 'f');
      for (;;) co_await c.client.send(block.data(), block.size());
    };
    const auto crash = [&]() -> task<> {
      co_await coracle::sleep_for(1s);
      t.far.crash();
    };
    std::error_code error;
    const auto note = [&]() -> task<> { error = co_await error_of(fill()); };
    co_await coracle::when_all(note(), crash());
    CHECK(error == std::errc::connection_reset);
  }());
}

TEST_CASE(
    "simulated host: without a free descriptor accept is an error, and the connection is there afterwards") {
  town t;
  t.sim.run([&]() -> task<> {
    socket listener = socket::create_tcpv4(t.far.io());
    listener.bind(t.address);
    listener.listen();
    socket client = socket::create_tcpv4(t.near.io());
    co_await client.connect(t.address);
    t.far.limit_descriptors(1);
    CHECK(co_await error_of(listener.accept()) == std::errc::too_many_files_open);
    t.far.limit_descriptors(2);
    const socket server = co_await listener.accept();
    CHECK(server.remote_endpoint() == client.local_endpoint());
    CHECK(t.far.open_descriptors() == 2);
  }());
  CHECK(t.far.open_descriptors() == 0);
}

TEST_CASE("simulated host: a crash keeps what was synced, and files that were open are lost to their owner") {
  town t;
  t.sim.run([&]() -> task<> {
    auto file = coracle::read_write_file::open(t.near.io(), "a");
    co_await file.write(0, "kept", 4);
    co_await file.sync();
    t.near.crash();
    CHECK(co_await error_of(file.write(4, "!", 1)) == std::errc::io_error);
    CHECK(t.near.disk().contents("a") == "kept");
    auto again = coracle::read_write_file::open(t.near.io(), "a");
    CHECK(again.size() == 4);
  }());
}

TEST_CASE(
    "simulated host: plain code may process the events, until stop(); and io_service::run() drives all") {
  town t;
  coracle::io_service& io = t.near.io();
  bool ran = false;
  const auto stop = [&]() -> task<> {
    co_await coracle::sleep_for(1h);
    ran = true;
    io.stop();
  };
  const auto drive = [&]() -> task<> {
    co_await io.schedule();
    co_await stop();
  };
  io.run(drive());
  CHECK(ran);
  CHECK(io.process_events() == 0);
  io.reset();
  CHECK(io.process_pending_events() == 0);
  ran = false;
  io.run(stop());
  CHECK(ran);
}
}  // namespace
