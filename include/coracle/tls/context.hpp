// coracle/tls/context.hpp -- certificates and settings that TLS connections share.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <initializer_list>
#include <string_view>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace coracle::tls {
/// Whether a server refuses clients without a certificate.
enum class client_certificate { optional, required };

/// What the connections of a client or of a server have in common. TLS 1.2 and 1.3; no renegotiation, no
/// early data. Move-only.
///
///     const auto trusting = coracle::tls::context::client();
///     auto secure = co_await coracle::tls::connect(io, "example.org", 443, trusting);
///
/// Certificates and keys are passed as PEM text, in which a certificate is followed by those that lead to the
/// authority. A key must not be encrypted.
/// Exceptions    tls::error with errc::bad_configuration: text that is no certificate or no key, a key of
///               another certificate; std::bad_alloc.
/// Threads       Change it before the first stream is created with it. Then any number of threads may create
///               streams. It may be destroyed before its streams.
/// Cost          client() reads files. A directory of certificates, such as Debian's, is read when
///               certificates are verified: some small files in each handshake, on its thread.
class context {
 public:
  /// Trusts the certificate authorities of this system, which OpenSSL looks for where the environment
  /// variables SSL_CERT_FILE and SSL_CERT_DIR say, or in the places that it was built with.
  [[nodiscard]] static context client();
  /// Trusts the certificates in `pem`, at least one, and no others: authorities, or the server's own.
  [[nodiscard]] static context client_trusting(std::string_view pem);
  /// Presents the first certificate of `chain_pem`, whose private key is `key_pem`.
  [[nodiscard]] static context server(std::string_view chain_pem, std::string_view key_pem);

  context(context&& other) noexcept
      : context_(coracle::detail::exchange(other.context_, nullptr)), is_client_(other.is_client_) {}
  context& operator=(context&& other) noexcept {
    context taken(static_cast<context&&>(other));
    context_ = coracle::detail::exchange(taken.context_, context_);
    is_client_ = taken.is_client_;
    return *this;
  }
  ~context();

  /// The application protocols (ALPN), the preferred one first: those that a client offers, or that a server
  /// speaks. The server chooses the first of its own that the client offers. If there is none, the handshake
  /// fails on both sides. A client that offers none is accepted, and so is a server that knows nothing of
  /// ALPN: stream::alpn() is then empty. Each name has 1 to 255 bytes.
  void set_protocols(std::initializer_list<std::string_view> names);
  /// A client presents this certificate to servers that ask for one.
  void present(std::string_view chain_pem, std::string_view key_pem);
  /// A server asks clients for a certificate of one of these authorities. One of another authority is
  /// refused; whether none is, `needed` says. See stream::peer_subject().
  void verify_clients(std::string_view authorities_pem,
                      client_certificate needed = client_certificate::required);

  [[nodiscard]] bool is_client() const noexcept { return is_client_; }
  /// For what has no function here: SSL_CTX_...() of <openssl/ssl.h>. Null if it was moved from.
  [[nodiscard]] ssl_ctx_st* native_handle() const noexcept { return context_; }

 private:
  explicit context(bool is_client);

  ssl_ctx_st* context_;
  bool is_client_;
};
}  // namespace coracle::tls
