// tests/unit/tls_context_test.cpp -- certificates, keys and settings for TLS.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <openssl/err.h>

#include <coracle/tls/context.hpp>
#include <coracle/tls/error.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "tls_connection.hpp"

namespace {
using coracle::tls::context;
using coracle_test::authority;
using coracle_test::identity;
using coracle_test::test_authority;
using coracle_test::test_server;

/// The text of the error, which must be that of a bad configuration.
template <class Make>
std::string refused(Make make) {
  try {
    make();
  } catch (const coracle::tls::error& failed) {
    CHECK(failed.code() == coracle::tls::errc::bad_configuration);
    CHECK(ERR_peek_error() == 0);
    return failed.what();
  }
  return "accepted";
}

TEST_CASE("tls::context: text that is no certificate, or is damaged, is refused") {
  const std::string good = test_server().certificate;
  const auto trusting = [](const std::string& pem) {
    return refused([&] { return context::client_trusting(pem); });
  };
  CHECK(trusting(good) == "accepted");
  CHECK(trusting(good + good) == "accepted");
  CHECK(trusting("a comment\n" + good + "another\n") == "accepted");
  CHECK(trusting("") == "certificate: no start line");
  CHECK(trusting("nothing") == "certificate: no start line");
  const std::string damaged = "-----BEGIN CERTIFICATE-----\nno base64\n";
  CHECK(trusting(damaged).starts_with("certificate: "));
  CHECK(trusting(good + damaged).starts_with("certificate: "));
}

TEST_CASE("tls::context: a server needs the key of its certificate, and one that is not encrypted") {
  const identity other = test_authority().issue("DNS:other");
  const auto serving = [](const std::string& chain, const std::string& key) {
    return refused([&] { return context::server(chain, key); });
  };
  CHECK(serving(test_server().certificate, test_server().key) == "accepted");
  CHECK(serving(test_server().certificate + test_authority().certificate(), test_server().key) == "accepted");
  CHECK(serving(test_server().certificate, other.key) == "private key: key values mismatch");
  CHECK(serving(test_server().certificate, "").starts_with("private key: "));
  CHECK(serving("", test_server().key) == "certificate: no start line");
  // OpenSSL would ask for the password on the terminal.
  const identity secret = test_authority().issue("DNS:secret", authority::hours_left, "password");
  CHECK(serving(secret.certificate, secret.key).starts_with("private key: "));
}

TEST_CASE("tls::context: the name of a protocol has 1 to 255 bytes") {
  context client = coracle_test::client_context(), server = coracle_test::server_context();
  const std::string longest(255, 'x'), too_long(256, 'x');
  for (context* each : {&client, &server}) {
    CHECK(refused([&] { each->set_protocols({"h2", longest}); }) == "accepted");
    CHECK(refused([&] { each->set_protocols({"h2", ""}); }) == "the name of a protocol has 1 to 255 bytes");
    CHECK(refused([&] { each->set_protocols({too_long}); }) == "the name of a protocol has 1 to 255 bytes");
    each->set_protocols({});
  }
}

TEST_CASE("tls::context: a client needs the name of its server") {
  const auto connecting = [](std::string_view host) {
    return refused([&] {
      coracle_test::memory_connection line;
      const coracle_test::secure_stream made{line.client(), coracle_test::client_context(), host};
    });
  };
  CHECK(connecting("localhost") == "accepted");
  CHECK(connecting("") == "a client needs the name of its server");
  CHECK(connecting(".") == "a client needs the name of its server");
  CHECK(connecting(std::string_view{"good.example\0.evil.example", 26}) ==
        "a client needs the name of its server");
  CHECK(connecting(std::string(300, 'x')).starts_with("the name of the server"));
}

TEST_CASE("tls::context: it can be moved, and its streams outlive it") {
  context first = coracle_test::client_context();
  CHECK(first.is_client());
  context second{std::move(first)};
  CHECK(first.native_handle() == nullptr);  // NOLINT(bugprone-use-after-move)
  first = std::move(second);
  CHECK(first.native_handle() != nullptr);
  context third = coracle_test::server_context();
  third = std::move(first);
  CHECK(third.is_client());
  coracle_test::tls_pair both;  // whose contexts were temporaries
  CHECK(both.agree());
}

TEST_CASE("tls::error: its code is of a category with a text for each kind") {
  using coracle::tls::errc;
  const coracle::tls::error failed{errc::truncated, "cut"};
  CHECK(std::string{failed.what()} == "cut");
  CHECK(failed.code() == errc::truncated);
  CHECK(failed.code().category().name() == std::string{"coracle.tls"});
  for (const errc each : {errc::bad_configuration, errc::certificate_rejected, errc::alert_received,
                          errc::truncated, errc::protocol_error})
    CHECK(make_error_code(each).message() != "unknown error");
  CHECK(std::error_code{99, coracle::tls::error_category()}.message() == "unknown error");
}
}  // namespace
