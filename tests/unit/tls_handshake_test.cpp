// tests/unit/tls_handshake_test.cpp -- what a TLS handshake agrees on, and what makes it fail.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/tls/stream.hpp>
#include <new>
#include <string>
#include <utility>

#include "../support/abort_message.hpp"
#include "tls_connection.hpp"

namespace {
using coracle::sync_wait;
using coracle::task;
using coracle::tls::client_certificate;
using coracle::tls::context;
using coracle::tls::errc;
using coracle_test::authority;
using coracle_test::client_context;
using coracle_test::ending;
using coracle_test::ending_of;
using coracle_test::identity;
using coracle_test::memory_connection;
using coracle_test::secure_stream;
using coracle_test::server_context;
using coracle_test::test_authority;
using coracle_test::tls_pair;

TEST_CASE("tls: both sides agree on TLS 1.3, or on 1.2 if one has no more") {
  context of_client = client_context();
  tls_pair newest{of_client};
  CHECK(newest.agree());
  CHECK(newest.client.protocol() == "TLSv1.3");
  CHECK(newest.server.protocol() == "TLSv1.3");
  CHECK(newest.client.alpn().empty());
  CHECK(SSL_get_max_early_data(newest.server.native_handle()) == 0);
  CHECK(newest.client.peer_subject() == "CN=localhost");
  CHECK(newest.server.peer_subject().empty());
  CHECK(SSL_get_servername(newest.server.native_handle(), TLSEXT_NAMETYPE_host_name) ==
        std::string{"localhost"});
  SSL_CTX_set_max_proto_version(of_client.native_handle(), TLS1_2_VERSION);
  tls_pair older{of_client};
  CHECK(older.agree());
  CHECK(older.server.protocol() == "TLSv1.2");
}

TEST_CASE("tls: no version in common is an error of both sides, and less than 1.2 is no version") {
  context of_client = client_context(), of_server = server_context();
  SSL_CTX_set_max_proto_version(of_client.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_min_proto_version(of_server.native_handle(), TLS1_3_VERSION);
  const auto [client, server] = tls_pair{of_client, of_server}.shake_hands();
  CHECK(server.code == errc::protocol_error);
  CHECK(server.text == "TLS: unsupported protocol");
  CHECK(client.code == errc::alert_received);
  CHECK(SSL_CTX_get_min_proto_version(of_client.native_handle()) == TLS1_2_VERSION);
}

TEST_CASE("tls: a server that cannot prove its name is refused, and told so") {
  struct {
    const char* host;
    std::string names;
    long hours;
    const char* why;
  } const cases[] = {{"localhost", "DNS:localhost", 24, ""},
                     {"localhost.", "DNS:localhost", 24, ""},
                     {"a.example.org", "DNS:*.example.org", 24, ""},
                     {"127.0.0.1", "IP:127.0.0.1", 24, ""},
                     {"::1", "IP:::1", 24, ""},
                     {"example.org", "DNS:localhost", 24, "hostname mismatch"},
                     {"a.b.example.org", "DNS:*.example.org", 24, "hostname mismatch"},
                     {"127.0.0.1", "DNS:127.0.0.1", 24, "IP address mismatch"},
                     {"127.0.0.2", "IP:127.0.0.1", 24, "IP address mismatch"},
                     // Its subject says so, and no name of it does.
                     {"localhost", "email:localhost", 24, "hostname mismatch"},
                     {"localhost", "DNS:localhost", -1, "certificate has expired"}};
  for (const auto& each : cases) {
    CAPTURE(each.host);
    CAPTURE(each.names);
    const identity its = test_authority().issue(each.names, each.hours);
    tls_pair both{client_context(), server_context(its), each.host};
    const auto [client, server] = both.shake_hands();
    if (*each.why == '\0') {
      CHECK(!client.code);
      CHECK(!server.code);
      continue;
    }
    CHECK(client.code == errc::certificate_rejected);
    CHECK(client.text == std::string{"the certificate is not accepted: "} + each.why);
    CHECK(server.code == errc::alert_received);
    CHECK(ERR_peek_error() == 0);
  }
}

TEST_CASE("tls: the name of the server is sent, an address is not") {
  const identity its = test_authority().issue("DNS:localhost, IP:127.0.0.1");
  tls_pair named{client_context(), server_context(its), "localhost."};
  CHECK(named.agree());
  CHECK(SSL_get_servername(named.server.native_handle(), TLSEXT_NAMETYPE_host_name) ==
        std::string{"localhost"});
  tls_pair unnamed{client_context(), server_context(its), "127.0.0.1"};
  CHECK(unnamed.agree());
  CHECK(SSL_get_servername(unnamed.server.native_handle(), TLSEXT_NAMETYPE_host_name) == nullptr);
}

TEST_CASE("tls: an authority that is not trusted, and a certificate that is trusted by itself") {
  const authority other{"another authority"};
  const auto [client, server] = tls_pair{client_context(other)}.shake_hands();
  CHECK(client.code == errc::certificate_rejected);
  CHECK(server.code == errc::alert_received);
  CHECK(server.text == "TLS: tlsv1 alert unknown ca");
  // It is no authority's, and nobody else vouches for it.
  CHECK(tls_pair{context::client_trusting(coracle_test::test_server().certificate)}.agree());
  // The system's authorities know nothing of it.
  CHECK(tls_pair{context::client()}.shake_hands().first.code == errc::certificate_rejected);
}

TEST_CASE("tls: the server chooses the first of its protocols that the client offers") {
  context of_client = client_context(), of_server = server_context();
  of_client.set_protocols({"http/1.1", "h2"});
  tls_pair one_sided{of_client};
  CHECK(one_sided.agree());
  CHECK(one_sided.client.alpn().empty());
  of_server.set_protocols({"h3"});
  of_server.set_protocols({"h3", "h2", "http/1.1"});  // in place of those before
  tls_pair both{of_client, of_server};
  CHECK(both.agree());
  CHECK(both.client.alpn() == "h2");
  CHECK(both.server.alpn() == "h2");
  tls_pair offers_none{client_context(), of_server};
  CHECK(offers_none.agree());
  CHECK(offers_none.server.alpn().empty());
}

TEST_CASE("tls: no protocol in common is an error of both sides") {
  context of_client = client_context(), of_server = server_context();
  of_client.set_protocols({"h2"});
  for (const bool speaks_another : {true, false}) {
    if (speaks_another)
      of_server.set_protocols({"http/1.1"});
    else
      of_server.set_protocols({});
    const auto [client, server] = tls_pair{of_client, of_server}.shake_hands();
    CHECK(client.code == errc::alert_received);
    CHECK(client.text == "TLS: tlsv1 alert no application protocol");
    CHECK(server.code == errc::protocol_error);
  }
}

TEST_CASE("tls: a server that verifies its clients knows them, and refuses others") {
  const authority of_clients{"authority of clients"}, other{"another authority"};
  const identity alice = of_clients.issue("DNS:alice"), mallory = other.issue("DNS:alice");
  for (const client_certificate needed : {client_certificate::required, client_certificate::optional}) {
    context of_server = server_context();
    of_server.verify_clients(of_clients.certificate(), needed);
    context of_client = client_context();
    {
      tls_pair without{of_client, of_server};
      const auto [client, server] = without.shake_hands();
      if (needed == client_certificate::optional) {
        CHECK(!client.code);
        CHECK(!server.code);
        CHECK(without.server.peer_subject().empty());
      } else {
        CHECK(server.code == errc::certificate_rejected);
        CHECK(server.text == "TLS: peer did not return a certificate");
        // TLS 1.3 ends its handshake before the server has looked at the certificate.
        CHECK(!client.code);
        char byte = 0;
        const ending found = sync_wait(ending_of(without.client.read_some(&byte, 1)));
        CHECK(found.code == errc::alert_received);
      }
    }
    of_client.present(mallory.certificate, mallory.key);
    CHECK(tls_pair{of_client, of_server}.shake_hands().second.code == errc::certificate_rejected);
    of_client.present(alice.certificate, alice.key);
    tls_pair known{of_client, of_server};
    CHECK(known.agree());
    CHECK(known.server.peer_subject() == "CN=alice");
  }
}

TEST_CASE("tls: a session with a client's certificate can be resumed") {
  const identity alice = test_authority().issue("DNS:alice");
  context of_server = server_context(), of_client = client_context();
  of_server.verify_clients(test_authority().certificate());
  of_client.present(alice.certificate, alice.key);
  tls_pair first{of_client, of_server};
  CHECK(first.agree());
  sync_wait(coracle_test::say(first.server, "so that the ticket is read"));
  CHECK(sync_wait(coracle_test::hear(first.client)) == "so that the ticket is read");
  SSL_SESSION* const session = SSL_get1_session(first.client.native_handle());
  tls_pair second{of_client, of_server};
  SSL_set_session(second.client.native_handle(), session);
  SSL_SESSION_free(session);
  CHECK(second.agree());
  CHECK(SSL_session_reused(second.server.native_handle()) == 1);
  CHECK(second.server.peer_subject() == "CN=alice");
}

TEST_CASE("tls: what is no TLS is an error, of a client and of a server, and does not end later") {
  using namespace std::string_literals;
  const std::string garbage[] = {"GET / HTTP/1.1\r\n\r\n"s,       "220 mail.example.org ESMTP\r\n"s,
                                 "\x16\x03\x01\xff\xff"s,         "\x16\x03\x03\x00\x05\x02\xff\xff\xff\xff"s,
                                 "\x15\x03\x03\x00\x02\x02\x28"s, "\x17\x03\x03\x00\x01\x00"s};
  for (const std::string& text : garbage) {
    for (const bool of_client : {true, false}) {
      CAPTURE(of_client);
      tls_pair both;
      secure_stream& side = of_client ? both.client : both.server;
      coracle_test::memory_pipe& input = of_client ? *both.line.to_client : *both.line.to_server;
      input.put(text);
      input.close();
      const ending found = sync_wait(ending_of(side.handshake()));
      CHECK(found.code.category() == coracle::tls::error_category());
      CHECK(found.code != errc::bad_configuration);
      if (found.code == errc::truncated) continue;
      char byte = 0;
      CHECK(sync_wait(ending_of(side.handshake())).text == found.text);
      CHECK(sync_wait(ending_of(side.read_some(&byte, 1))).text == found.text);
      CHECK(sync_wait(ending_of(side.write_some("x"))).text == found.text);
      CHECK(sync_wait(ending_of(side.send_all("x"))).text == found.text);
    }
  }
}

TEST_CASE("tls: a byte of the handshake that is wrong is an error, of one side or of both, and no more") {
  std::size_t sizes[2];
  {
    tls_pair both;
    CHECK(both.agree());
    sizes[0] = both.line.to_server->passed;
    sizes[1] = both.line.to_client->passed;
  }
  for (const int which : {0, 1}) {
    for (std::size_t at = 0; at < sizes[which]; at += 3) {
      CAPTURE(at);
      tls_pair both;
      auto& changed = which == 0 ? *both.line.to_server : *both.line.to_client;
      changed.flipped = at;
      coracle::testing::manual_scheduler place;
      auto client = coracle::testing::poll(place, coracle_test::shake_hands(both.client));
      auto server = coracle::testing::poll(place, coracle_test::shake_hands(both.server));
      while (place.run_one()) {
      }
      // Who still waits has been told of a longer record than there is.
      both.line.to_client->close();
      both.line.to_server->close();
      while (place.run_one()) {
      }
      REQUIRE(client.ready());
      REQUIRE(server.ready());
      const ending of_client = client.get(), of_server = server.get();
      CHECK((of_client.code || of_server.code));
      for (const ending& each : {of_client, of_server})
        CHECK((!each.code || each.code.category() == coracle::tls::error_category()));
    }
  }
}

TEST_CASE("tls: a connection that ends in the handshake is truncated, wherever it does") {
  std::size_t whole = 0;
  {
    tls_pair both;
    CHECK(both.agree());
    whole = both.line.to_client->passed;
  }
  for (std::size_t cut = 0; cut < whole; cut += whole / 7) {
    tls_pair both;
    auto& input = *both.line.to_client;
    auto server = coracle::testing::poll(both.server.handshake());
    auto client = coracle::testing::poll(ending_of(both.client.handshake()));
    server.run();
    input.bytes.resize(cut < input.bytes.size() ? cut : input.bytes.size());
    input.close();
    REQUIRE(client.run());
    CHECK(client.get().code == errc::truncated);
    server.request_stop();
    CHECK(server.run());
  }
}

TEST_CASE("tls: a handshake that was stopped, at any point, goes on with the next handshake()") {
  const context of_client = client_context(), of_server = server_context();
  // Nobody would read them here, and there is no room.
  SSL_CTX_set_num_tickets(of_server.native_handle(), 0);
  bool was_stopped = true;
  for (int at = 0; was_stopped; ++at) {
    was_stopped = false;
    tls_pair both{of_client, of_server};
    for (coracle_test::memory_pipe* each : {both.line.to_client.get(), both.line.to_server.get()}) {
      each->room = 300;
      each->most = 100;
    }
    int waits = 0;
    const auto shake = [&](secure_stream& side) -> task<> {
      for (bool again = true; again;) {
        auto polled = coracle::testing::poll(side.handshake());
        while (!polled.run()) {
          if (waits++ == at) {
            polled.request_stop();
            was_stopped = true;
          } else {
            co_await coracle::this_task::yield();
          }
        }
        again = false;
        try {
          polled.get();
        } catch (const coracle::operation_cancelled&) {
          again = true;
        }
      }
    };
    coracle::testing::manual_scheduler place;
    auto client = coracle::testing::poll(place, shake(both.client));
    auto server = coracle::testing::poll(place, shake(both.server));
    while (!client.ready() || !server.ready()) REQUIRE(place.run_one());
    client.get();
    server.get();
    CHECK(both.client.protocol() == "TLSv1.3");
  }
}

TEST_CASE("tls: a side that ends its stream in the handshake has broken it off") {
  tls_pair both;
  both.line.to_client->put(std::string{"\x15\x03\x03\x00\x02\x01\x00", 7});
  const ending found = sync_wait(ending_of(both.client.handshake()));
  CHECK(found.code == errc::protocol_error);
  CHECK(found.text == "the other side ended the handshake");
}

TEST_CASE("tls: no memory, at any allocation, is an error, and leaks nothing" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const context of_client = client_context(), of_server = server_context();
  CHECK(tls_pair{of_client, of_server}.agree());
  const int failures = coracle::testing::fail_each_allocation([&] {
    try {
      tls_pair both{of_client, of_server};
      auto shaking = coracle::testing::poll(both.client.handshake());
      if (!shaking.ready()) {
        shaking.request_stop();
        shaking.run();
      }
      shaking.get();
    } catch (const std::bad_alloc&) {
    } catch (const coracle::operation_cancelled&) {
    }
  });
  CHECK(failures >= 10);
}

TEST_CASE("tls: a read into nothing ends a checked program with a message" *
          doctest::skip(!CORACLE_CHECKS())) {
  CHECK(coracle_test::abort_message([] {
          tls_pair both;
          std::string nothing;
          static_cast<void>(both.client.read_some(nothing));
        }).find("read_some() into 0 bytes") != std::string::npos);
}

TEST_CASE("tls: misuse ends the program with a message") {
  CHECK(coracle_test::abort_message([] {
          tls_pair both;
          sync_wait(both.client.write_some("x"));
        }) == "coracle: a tls::stream was used before its handshake: co_await stream.handshake() first\n");
  CHECK(coracle_test::abort_message([] {
          context of_client = client_context();
          of_client.verify_clients(test_authority().certificate());
        }).find("a client always verifies its server") != std::string::npos);
}

TEST_CASE("tls: errors that another library has left on the thread are not taken for ours") {
  tls_pair both;
  ERR_raise(ERR_LIB_USER, 1);
  CHECK(both.agree());
  ERR_raise(ERR_LIB_USER, 1);
  sync_wait(both.client.send_all("hello"));
  ERR_raise(ERR_LIB_USER, 1);
  std::string text(5, ' ');
  CHECK(sync_wait(both.server.read_some(text)) == 5);
  CHECK(text == "hello");
}
}  // namespace
