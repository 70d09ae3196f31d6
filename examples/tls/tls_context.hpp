// examples/tls/tls_context.hpp -- certificates, and what OpenSSL owns.
// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tls {
/// The other side is not who it should be, does not speak TLS, or broke the protocol.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws the oldest error that OpenSSL has queued on this thread.
[[noreturn]] inline void fail(const std::string& what) {
  const unsigned long code = ERR_get_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  throw error(reason ? what + ": " + reason : what);
}
inline void require(bool is_good, const char* what) {
  if (!is_good) fail(what);
}

template <auto destroy>
struct destroyer {
  template <class T>
  void operator()(T* owned) const noexcept {
    destroy(owned);
  }
};
template <class T, auto destroy>
using owned = std::unique_ptr<T, destroyer<destroy>>;
using owned_certificate = owned<X509, X509_free>;
using owned_key = owned<EVP_PKEY, EVP_PKEY_free>;
using owned_bio = owned<BIO, BIO_free_all>;

/// Reads PEM text in place. It must outlive the result.
inline owned_bio text_source(std::string_view pem) {
  owned_bio source{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  require(source != nullptr, "no memory");
  return source;
}

/// What the connections of a client or of a server have in common.
class context {
 public:
  /// Trusts the authorities of this system.
  static context client() {
    context made{TLS_client_method(), true};
    require(SSL_CTX_set_default_verify_paths(made.get()) == 1, "the system's certificates");
    return made;
  }
  /// Trusts the certificates in `pem`, at least one, and no others.
  static context client_trusting(std::string_view pem) {
    context made{TLS_client_method(), true};
    const owned_bio text = text_source(pem);
    owned_certificate next = first_certificate(text);
    for (; next; next = next_certificate(text))
      require(X509_STORE_add_cert(SSL_CTX_get_cert_store(made.get()), next.get()) == 1, "certificate");
    return made;
  }
  /// `chain_pem`: the server's certificate, then those that lead to the authority.
  static context server(std::string_view chain_pem, std::string_view key_pem) {
    context made{TLS_server_method(), false};
    const owned_bio chain = text_source(chain_pem), key_text = text_source(key_pem);
    require(SSL_CTX_use_certificate(made.get(), first_certificate(chain).get()) == 1, "certificate");
    while (const owned_certificate next = next_certificate(chain))
      require(SSL_CTX_add1_chain_cert(made.get(), next.get()) == 1, "chain of certificates");
    const owned_key key{PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr)};
    require(key && SSL_CTX_use_PrivateKey(made.get(), key.get()) == 1, "private key");
    return made;
  }

  [[nodiscard]] SSL_CTX* get() const noexcept { return context_.get(); }
  [[nodiscard]] bool is_client() const noexcept { return is_client_; }

 private:
  context(const SSL_METHOD* method, bool is_client) : context_(SSL_CTX_new(method)), is_client_(is_client) {
    require(context_ != nullptr, "context");
    SSL_CTX_set_min_proto_version(get(), TLS1_2_VERSION);
    // So that writing never waits for something to read.
    SSL_CTX_set_options(get(), SSL_OP_NO_RENEGOTIATION);
  }

  static owned_certificate first_certificate(const owned_bio& pem) {
    owned_certificate first{PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)};
    require(first != nullptr, "certificate");
    return first;
  }
  /// Null at the end of the text, which OpenSSL reports as an error too.
  static owned_certificate next_certificate(const owned_bio& pem) {
    owned_certificate next{PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)};
    require(next || ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE, "certificate");
    ERR_clear_error();
    return next;
  }

  owned<SSL_CTX, SSL_CTX_free> context_;
  bool is_client_;
};

/// A certificate that is signed by its own key, both as PEM text. For programs that start themselves, and
/// tests.
struct identity {
  std::string certificate, key;
};
inline std::string text_of(const owned_bio& written) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(written.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}
inline identity make_identity(const std::string& host) {
  const owned_key key{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")};
  const owned_certificate made{X509_new()};
  require(key && made, "key");
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60L);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 24L * 60 * 60);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(host.data()),
                             static_cast<int>(host.size()), -1, 0);
  X509_set_issuer_name(made.get(), name);
  const std::string names = "DNS:" + host;
  const owned<X509_EXTENSION, X509_EXTENSION_free> alternatives{
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str())};
  require(alternatives && X509_add_ext(made.get(), alternatives.get(), -1) == 1, "names");
  require(X509_sign(made.get(), key.get(), nullptr) != 0, "signature");
  const owned_bio certificate{BIO_new(BIO_s_mem())}, secret{BIO_new(BIO_s_mem())};
  require(PEM_write_bio_X509(certificate.get(), made.get()) == 1 &&
              PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "PEM");
  return {text_of(certificate), text_of(secret)};
}
}  // namespace tls
