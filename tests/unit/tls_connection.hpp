// tests/unit/tls_connection.hpp -- a client and a server of TLS in memory, and how their operations end.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/tls/stream.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "../support/tls_identity.hpp"
#include "memory_stream.hpp"

namespace coracle_test {
using secure_stream = coracle::tls::stream<memory_stream>;

inline coracle::tls::context server_context(const identity& its = test_server()) {
  return coracle::tls::context::server(its.certificate, its.key);
}
inline coracle::tls::context client_context(const authority& trusted = test_authority()) {
  return coracle::tls::context::client_trusting(trusted.certificate());
}

/// How an operation ended.
struct ending {
  std::error_code code{};  ///< none if it succeeded
  std::string text{};
};
template <class Awaitable>
coracle::task<ending> ending_of(Awaitable work) {
  ending found;
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const std::system_error& failed) {
    found = {failed.code(), failed.what()};
  }
  co_return found;
}
template <>
inline coracle::task<ending> ending_of(coracle::task<> work) {
  ending found;
  try {
    co_await std::move(work);
  } catch (const std::system_error& failed) {
    found = {failed.code(), failed.what()};
  }
  co_return found;
}

/// Ends the side that fails, as its owner would, so that the other one does not wait for it.
inline coracle::task<ending> shake_hands(secure_stream& side) {
  ending found = co_await ending_of(side.handshake());
  if (found.code) side.close();
  co_return found;
}

struct tls_pair {
  explicit tls_pair(const coracle::tls::context& of_client = client_context(),
                    const coracle::tls::context& of_server = server_context(), const char* host = "localhost")
      : client{line.client(), of_client, host}, server{line.server(), of_server} {}

  /// How the handshake ended: for the client, for the server.
  std::pair<ending, ending> shake_hands() {
    auto [first, second] = coracle::sync_wait(
        coracle::when_all(coracle_test::shake_hands(client), coracle_test::shake_hands(server)));
    return {first, second};
  }
  /// Returns true if both succeed.
  bool agree() {
    const auto [first, second] = shake_hands();
    return !first.code && !second.code;
  }

  memory_connection line{};
  secure_stream client, server;
};

/// Everything up to the end of the stream.
inline coracle::task<std::string> hear(secure_stream& from) {
  std::string all, piece(5000, ' ');
  for (;;) {
    const std::size_t size = co_await from.read_some(piece);
    if (size == 0) co_return all;
    all.append(piece, 0, size);
  }
}
/// Everything, and then the end of the stream.
inline coracle::task<> say(secure_stream& to, std::string text) {
  co_await to.send_all(text);
  co_await to.shutdown();
}
}  // namespace coracle_test
