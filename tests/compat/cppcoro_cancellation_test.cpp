// tests/compat/cppcoro_cancellation_test.cpp -- cancellation tokens, sources and registrations, and I/O.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/stop.hpp>
#include <cppcoro/cancellation_registration.hpp>
#include <cppcoro/cancellation_source.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/io_service.hpp>
#include <cppcoro/net/socket.hpp>
#include <cppcoro/on_scope_exit.hpp>
#include <cppcoro/operation_cancelled.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <cstdint>

namespace {
using cppcoro::cancellation_registration;
using cppcoro::cancellation_source;
using cppcoro::cancellation_token;
using cppcoro::task;

TEST_CASE("cppcoro::cancellation_source: copies share one state, a moved-from one cannot be cancelled") {
  cancellation_source source;
  cancellation_source copy = source;
  const cancellation_token token = source.token();
  cancellation_source moved = std::move(source);
  CHECK_FALSE(source.can_be_cancelled());
  source.request_cancellation();
  CHECK_FALSE(token.is_cancellation_requested());
  copy.request_cancellation();
  CHECK(moved.is_cancellation_requested());
  CHECK_THROWS_AS(token.throw_if_cancellation_requested(), cppcoro::operation_cancelled);
}

TEST_CASE("cppcoro::cancellation_token: cannot be cancelled once the last source has gone") {
  cancellation_token token;
  CHECK_FALSE(token.can_be_cancelled());
  {
    cancellation_source source;
    token = source.token();
    CHECK(token.can_be_cancelled());
  }
  CHECK_FALSE(token.can_be_cancelled());
}

TEST_CASE("cppcoro::cancellation_token: is a coracle::stop_token for coracle, and the other way") {
  coracle::stop_source source;
  const cancellation_token token = source.get_token();
  const coracle::stop_token back = token;
  int calls = 0;
  {
    const cancellation_registration dropped(token, [&] { calls += 10; });
  }
  const cancellation_registration registered(token, [&] { ++calls; });
  source.request_stop();
  CHECK(token.is_cancellation_requested());
  CHECK(back.stop_requested());
  const cancellation_registration late(token, [&] { ++calls; });
  CHECK(calls == 2);
}

TEST_CASE("cppcoro::io_service: a timer and an accept() end with operation_cancelled") {
  cppcoro::io_service service;
  cancellation_source source;
  auto listener = cppcoro::net::socket::create_tcpv4(service);
  listener.bind(cppcoro::net::ipv4_endpoint{cppcoro::net::ipv4_address::loopback(), 0});
  listener.listen(1);
  auto waits_for_timer = [&](cancellation_token token) -> task<> {
    co_await service.schedule_after(std::chrono::hours(1), token);
  };
  auto waits_for_peer = [&](cancellation_token token) -> task<> {
    auto accepted = cppcoro::net::socket::create_tcpv4(service);
    co_await listener.accept(accepted, token);
  };
  auto cancels = [&]() -> task<> {
    co_await service.schedule();
    source.request_cancellation();
  };
  auto all = [&]() -> task<int> {
    auto stop = cppcoro::on_scope_exit([&] { service.stop(); });
    auto timer = waits_for_timer(source.token());
    auto peer = waits_for_peer(source.token());
    co_await cppcoro::when_all(timer.when_ready(), peer.when_ready(), cancels());
    int cancelled = 0;
    try {
      co_await timer;
    } catch (const cppcoro::operation_cancelled&) {
      ++cancelled;
    }
    try {
      co_await peer;
    } catch (const cppcoro::operation_cancelled&) {
      ++cancelled;
    }
    co_return cancelled;
  };
  auto process = [&]() -> task<std::uint64_t> { co_return service.process_events(); };
  auto [cancelled, events] = cppcoro::sync_wait(cppcoro::when_all(all(), process()));
  CHECK(cancelled == 2);
  CHECK(events >= 3);
}
}  // namespace
