// tests/unit/tls_stream_test.cpp -- data over TLS: in order, also after stop requests, and with a true end.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/tls/stream.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "tls_connection.hpp"

namespace {
using coracle::sync_wait;
using coracle::task;
using coracle::testing::poll;
using coracle::tls::context;
using coracle::tls::errc;
using coracle_test::client_context;
using coracle_test::ending_of;
using coracle_test::hear;
using coracle_test::memory_pipe;
using coracle_test::say;
using coracle_test::secure_stream;
using coracle_test::server_context;
using coracle_test::tls_pair;

static_assert(coracle::byte_stream<secure_stream>);
static_assert(coracle::byte_stream<coracle::tls::stream<coracle::net::socket>>);
static_assert(std::is_nothrow_move_constructible_v<coracle::tls::stream<coracle::net::socket>>);
static_assert(!std::is_copy_constructible_v<secure_stream>);

/// No two places of it are alike.
std::string long_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>(i * 2654435761U >> 13);
  return text;
}
/// Through small pipes, so that everything has to wait.
void make_narrow(tls_pair& both) {
  for (memory_pipe* each : {both.line.to_client.get(), both.line.to_server.get()}) {
    each->room = 5000;
    each->most = 1700;
  }
}

TEST_CASE("tls: much data in both directions at once") {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    context of_client = client_context();
    SSL_CTX_set_max_proto_version(of_client.native_handle(), version);
    tls_pair both{of_client};
    REQUIRE(both.agree());
    make_narrow(both);
    const std::string question = long_text(700'000), answer = long_text(900'000);
    const auto [heard, said, answered, replied] = sync_wait(coracle::when_all(
        hear(both.server), say(both.client, question), hear(both.client), say(both.server, answer)));
    static_cast<void>(said), static_cast<void>(replied);
    CHECK(heard == question);
    CHECK(answered == answer);
  }
}

TEST_CASE("tls: an end that was sent is an end, and the other direction goes on") {
  tls_pair both;
  REQUIRE(both.agree());
  sync_wait(say(both.client, "the question"));
  sync_wait(both.client.shutdown());  // again
  CHECK(sync_wait(hear(both.server)) == "the question");
  char byte = 0;
  CHECK(sync_wait(both.server.read_some(&byte, 1)) == 0);
  CHECK(sync_wait(ending_of(both.client.write_some("x"))).code == std::errc::broken_pipe);
  CHECK(sync_wait(ending_of(both.client.write_some(""))).code == std::errc::broken_pipe);
  sync_wait(say(both.server, "the answer"));
  CHECK(sync_wait(hear(both.client)) == "the answer");
  CHECK(both.line.to_client->bytes.empty());
}

TEST_CASE("tls: shutdown() before the handshake does nothing") {
  tls_pair both;
  sync_wait(both.client.shutdown());
  CHECK(both.line.to_server->bytes.empty());
  CHECK(both.agree());
}

TEST_CASE("tls: a connection that is cut is an error, also behind the last record") {
  for (const bool in_a_record : {false, true}) {
    tls_pair both;
    REQUIRE(both.agree());
    sync_wait(both.client.send_all("all that there is"));
    std::string& bytes = both.line.to_server->bytes;
    if (in_a_record) bytes.pop_back();
    both.client.close();
    std::string text(100, ' ');
    if (!in_a_record) CHECK(sync_wait(both.server.read_some(text)) == 17);
    CHECK(sync_wait(ending_of(both.server.read_some(text))).code == errc::truncated);
    // This side can still write.
    sync_wait(both.server.send_all("why?"));
    CHECK(sync_wait(both.client.read_some(text)) == 4);
  }
}

TEST_CASE("tls: a record that somebody has changed is an error, and the other side is told") {
  tls_pair both;
  REQUIRE(both.agree());
  sync_wait(both.client.send_all("hello"));
  both.line.to_server->bytes.back() ^= 1;
  char byte = 0;
  CHECK(sync_wait(ending_of(both.server.read_some(&byte, 1))).code == errc::protocol_error);
  CHECK(sync_wait(ending_of(both.client.read_some(&byte, 1))).code == errc::alert_received);
  CHECK(sync_wait(ending_of(both.server.write_some("x"))).code == errc::protocol_error);
  CHECK(sync_wait(ending_of(both.server.shutdown())).code == errc::protocol_error);
  CHECK(ERR_peek_error() == 0);
}

TEST_CASE("tls: the alert goes behind what a writer is sending") {
  tls_pair both;
  REQUIRE(both.agree());
  make_narrow(both);
  auto sending = poll(both.server.send_all(long_text(10'000)));
  CHECK(!sending.ready());
  both.line.to_server->put("garbage");
  both.line.to_server->close();
  char byte = 0;
  CHECK(sync_wait(ending_of(both.server.read_some(&byte, 1))).code == errc::protocol_error);
  const auto read_all = [&]() -> task<std::string> {
    std::string all, piece(1000, ' ');
    try {
      for (;;) all.append(piece, 0, co_await both.client.read_some(piece));
    } catch (const coracle::tls::error& failed) {
      CHECK(failed.code() == errc::alert_received);
    }
    co_return all;
  };
  auto reading = poll(read_all());
  while (!reading.ready() && (sending.step() || reading.step())) {
  }
  REQUIRE(reading.ready());
  CHECK(reading.get() == long_text(10'000));
}

TEST_CASE("tls: a stopped read loses nothing") {
  tls_pair both;
  REQUIRE(both.agree());
  both.line.to_server->most = 7;
  const std::string text = long_text(100);
  sync_wait(both.client.send_all(text));
  // A piece of the record at a time.
  std::string record = std::exchange(both.line.to_server->bytes, {}), heard;
  for (const char each : record) {
    char byte = 0;
    auto reading = poll(both.server.read_some(&byte, 1));
    CHECK(!reading.ready());
    reading.request_stop();
    REQUIRE(reading.run());
    CHECK_THROWS_AS(reading.get(), coracle::operation_cancelled);
    both.line.to_server->put({each});
  }
  for (std::size_t i = 0; i != text.size(); ++i) {
    char byte = 0;
    CHECK(sync_wait(both.server.read_some(&byte, 1)) == 1);
    heard += byte;
  }
  CHECK(heard == text);
}

TEST_CASE("tls: a read that need not wait is not carried out after a stop request") {
  tls_pair both;
  REQUIRE(both.agree());
  sync_wait(both.client.send_all("ab"));
  char byte = 0;
  CHECK(sync_wait(both.server.read_some(&byte, 1)) == 1);
  coracle::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(sync_wait(both.server.read_some(&byte, 1, stop.get_token())), coracle::operation_cancelled);
  CHECK_THROWS_AS(sync_wait(both.server.write_some("x", stop.get_token())), coracle::operation_cancelled);
  CHECK(sync_wait(both.server.read_some(&byte, 1)) == 1);
  CHECK(byte == 'b');
}

TEST_CASE("tls: a write that was stopped, wherever, is part of the stream once, or not at all") {
  const std::string text = long_text(40'000);
  bool was_stopped = true;
  for (int at = 0; was_stopped; ++at) {
    was_stopped = false;
    tls_pair both;
    REQUIRE(both.agree());
    make_narrow(both);
    coracle::testing::manual_scheduler place;
    const auto send = [&]() -> task<> {
      std::size_t sent = 0;
      int waits = 0;
      for (bool again = true; again;) {
        auto sending = poll(both.client.send_all(text, {}, &sent));
        while (!sending.run()) {
          if (waits++ == at) {
            sending.request_stop();
            was_stopped = true;
          }
          co_await coracle::this_task::yield();
        }
        again = false;
        try {
          sending.get();
        } catch (const coracle::operation_cancelled&) {
          again = true;
        }
      }
      CHECK(sent == text.size());
      co_await both.client.shutdown();
    };
    auto sending = poll(place, send());
    auto hearing = poll(place, hear(both.server));
    while (!sending.ready() || !hearing.ready()) REQUIRE(place.run_one());
    sending.get();
    CHECK(hearing.get() == text);
  }
}

TEST_CASE("tls: write_some() takes a record at most, and counts it if it was stopped while it sends it") {
  tls_pair both;
  REQUIRE(both.agree());
  make_narrow(both);
  const std::string text = long_text(40'000);
  auto writing = poll(both.client.write_some(text));
  CHECK(!writing.ready());
  writing.request_stop();
  REQUIRE(writing.run());
  CHECK(writing.get() == 16 * 1024);
  // The next one waits until that has been sent, and takes nothing before.
  auto next = poll(both.client.write_some("more"));
  CHECK(!next.ready());
  next.request_stop();
  REQUIRE(next.run());
  CHECK_THROWS_AS(next.get(), coracle::operation_cancelled);
  // So does a send_all() that was stopped behind its last byte.
  auto heard = poll(hear(both.server));
  auto rest = poll(both.client.send_all("", {}));
  while (!rest.ready() && (rest.step() || heard.step())) {
  }
  REQUIRE(rest.ready());
  auto end = poll(both.client.shutdown());
  while (!heard.ready() && (end.step() || heard.step())) {
  }
  REQUIRE(heard.ready());
  CHECK(heard.get() == text.substr(0, 16 * 1024));
}

TEST_CASE("tls: a send_all() that was stopped behind its last byte says so, and goes on with its count") {
  tls_pair both;
  REQUIRE(both.agree());
  make_narrow(both);
  const std::string text = long_text(10'000);
  std::size_t sent = 0;
  auto sending = poll(both.client.send_all(text, {}, &sent));
  CHECK(!sending.run());
  sending.request_stop();
  REQUIRE(sending.run());
  CHECK_THROWS_AS(sending.get(), coracle::operation_cancelled);
  CHECK(sent == text.size());
  const auto go_on = [&]() -> task<> {
    co_await both.client.send_all(text, {}, &sent);
    CHECK(both.line.to_server->bytes.size() < 10'000);
    both.client.close();
  };
  const auto count = [&]() -> task<std::size_t> {
    std::string piece(20'000, ' ');
    const std::size_t size = co_await both.server.read_some(piece);
    co_return size;
  };
  CHECK(std::get<1>(sync_wait(coracle::when_all(go_on(), count()))) == text.size());
}

TEST_CASE("tls: new keys, asked for by either side") {
  tls_pair both;
  REQUIRE(both.agree());
  for (secure_stream* side : {&both.client, &both.server}) {
    secure_stream& other = side == &both.client ? both.server : both.client;
    REQUIRE(SSL_key_update(side->native_handle(), SSL_KEY_UPDATE_REQUESTED) == 1);
    for (const char* text : {"one", "two"}) {
      std::string got(3, ' ');
      sync_wait(side->send_all(text));
      CHECK(sync_wait(other.read_some(got)) == 3);
      CHECK(got == text);
      sync_wait(other.send_all(text));
      CHECK(sync_wait(side->read_some(got)) == 3);
      CHECK(got == text);
    }
  }
}

TEST_CASE("tls: answers that the other side does not read do not delay what it sends, and are limited") {
  tls_pair both;
  REQUIRE(both.agree());
  both.line.to_client->room = 0;  // the client reads nothing
  both.line.to_server->room = 1'000'000;
  const auto ask = [&] {
    REQUIRE(SSL_key_update(both.client.native_handle(), SSL_KEY_UPDATE_REQUESTED) == 1);
    sync_wait(both.client.send_all("x"));
  };
  ask();
  char byte = 0;
  CHECK(sync_wait(both.server.read_some(&byte, 1)) == 1);
  for (int i = 0; i != 10'000; ++i) ask();
  sync_wait(both.client.shutdown());
  auto hearing = poll(hear(both.server));
  CHECK(!hearing.run());
  CHECK(both.line.to_server->bytes.size() > 100'000);
  both.line.to_client->room = 1'000'000;
  both.line.to_client->changed.set();
  REQUIRE(hearing.run());
  CHECK(hearing.get().size() == 10'000);
}

TEST_CASE("tls: half a message of the handshake protocol does not keep a writer from writing") {
  // A ticket with the client's certificate in it, in records of 512 bytes.
  const coracle_test::identity alice =
      coracle_test::test_authority().issue("DNS:alice, DNS:" + std::string(200, 'a'));
  context of_client = client_context(), of_server = server_context();
  of_server.verify_clients(coracle_test::test_authority().certificate());
  of_client.present(alice.certificate, alice.key);
  SSL_CTX_set_max_send_fragment(of_server.native_handle(), 512);
  for (const bool by_reader : {true, false}) {
    tls_pair both{of_client, of_server};
    REQUIRE(both.agree());
    std::string& ticket = both.line.to_client->bytes;
    REQUIRE(ticket.size() > 1100);
    const std::string rest = ticket.substr(600);
    ticket.resize(600);
    char byte = 0;
    auto reading = poll(both.client.read_some(&byte, 1));
    CHECK(!reading.run());
    if (!by_reader) {
      reading.request_stop();
      CHECK(reading.run());
    }
    auto writing = poll(both.client.send_all("hello"));
    CHECK(!writing.run());
    both.line.to_client->put(rest);
    while (reading.step() || writing.step()) {
    }
    REQUIRE(writing.ready());
    std::string text(5, ' ');
    CHECK(sync_wait(both.server.read_some(text)) == 5);
    sync_wait(both.server.send_all("!"));
    if (by_reader)
      CHECK(reading.run());
    else
      CHECK(sync_wait(both.client.read_some(&byte, 1)) == 1);
    CHECK(byte == '!');
  }
}

TEST_CASE("tls: a second read waits for the first one, and so does a second write") {
  tls_pair both;
  REQUIRE(both.agree());
  make_narrow(both);
  char one = 0, two = 0;
  auto first = poll(both.server.read_some(&one, 1));
  auto second = poll(both.server.read_some(&two, 1));
  const std::string a = "1" + std::string(16'000, 'a'), b = "2" + std::string(16'000, 'b');
  auto earlier = poll(both.client.write_some(a));
  auto later = poll(both.client.write_some(b));
  while (first.step() || earlier.step() || later.step()) {
  }
  CHECK(first.ready());
  CHECK(second.run());
  CHECK(one == '1');
  CHECK(two == 'a');
  std::string text(16'000, ' ');
  const auto drain = [&]() -> task<> {
    for (int left = 32'000; left > 0;) left -= static_cast<int>(co_await both.server.read_some(text));
  };
  auto draining = poll(drain());
  while (!draining.ready() && (draining.step() || earlier.step() || later.step())) {
  }
  CHECK(earlier.ready());
  CHECK(later.ready());
}

TEST_CASE("tls: streams can be moved between operations") {
  std::vector<secure_stream> servers, clients;
  for (int i = 0; i != 5; ++i) {
    tls_pair both;
    REQUIRE(both.agree());
    auto early = poll(both.client.send_all("before the move"));
    REQUIRE(early.ready());
    servers.push_back(std::move(both.server));
    clients.push_back(std::move(both.client));
  }
  std::swap(servers[0], servers[4]);
  std::swap(clients[0], clients[4]);
  for (std::size_t i = 0; i != 5; ++i) {
    sync_wait(say(clients[i], "."));
    CHECK(sync_wait(hear(servers[i])) == "before the move.");
  }
  servers[0] = std::move(servers[1]);
  CHECK(servers[0].protocol() == "TLSv1.3");
}

TEST_CASE("tls: readers and writers of lines work over it") {
  tls_pair both;
  REQUIRE(both.agree());
  const auto talk = [&]() -> task<> {
    coracle::buffered_writer writer{both.client};
    for (int i = 0; i != 3000; ++i) {
      const std::string line = "line " + std::to_string(i) + "\n";
      co_await writer.write(line);
    }
    co_await writer.flush();
    co_await both.client.shutdown();
  };
  const auto listen = [&]() -> task<int> {
    coracle::buffered_reader reader{both.server};
    int lines = 0;
    while (const auto line = co_await reader.read_line()) {
      CHECK(*line == "line " + std::to_string(lines));
      ++lines;
    }
    co_return lines;
  };
  CHECK(std::get<0>(sync_wait(coracle::when_all(listen(), talk()))) == 3000);
}

TEST_CASE("tls: on strands, whose threads change, errors stay on no thread") {
  coracle::static_thread_pool pool{2};
  const coracle_test::authority other{"another authority"};
  const auto meet = [&]() -> task<> {
    coracle::strand place{pool};
    co_await place.schedule();
    for (int i = 0; i != 20; ++i) {
      tls_pair both{client_context(i % 2 == 0 ? coracle_test::test_authority() : other)};
      const auto [client, server] = co_await coracle::when_all(coracle_test::shake_hands(both.client),
                                                               coracle_test::shake_hands(both.server));
      CHECK(!client.code == (i % 2 == 0));
      CHECK(!server.code == (i % 2 == 0));
      CHECK(ERR_peek_error() == 0);
    }
    co_await pool.schedule();
  };
  sync_wait(coracle::when_all(meet(), meet(), meet()));
}

TEST_CASE("tls: destroyed while an operation is pending, it ends the program with a message") {
  CHECK(coracle_test::abort_message([] {
          tls_pair both;
          if (!both.agree()) return;
          char byte = 0;
          auto reading = poll(both.client.read_some(&byte, 1));
          {
            const secure_stream gone = std::move(both.client);
          }
        }).find("an async_mutex was destroyed while it was held") != std::string::npos);
}
}  // namespace
