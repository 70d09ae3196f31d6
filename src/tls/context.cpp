// SPDX-License-Identifier: MIT
#include <openssl/pem.h>

#include <climits>
#include <coracle/base/check.hpp>
#include <coracle/tls/context.hpp>
#include <new>
#include <string>
#include <utility>

#include "openssl.hpp"

namespace coracle::tls {
namespace {
using detail::owned_bio;
using detail::owned_certificate;
using detail::owned_key;
using detail::require;

/// Reads PEM text in place. It must outlive the result.
owned_bio text_source(std::string_view pem) {
  ERR_clear_error();
  require(pem.size() <= INT_MAX, "PEM text is too long");
  owned_bio source{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  if (!source) throw std::bad_alloc();
  return source;
}

owned_certificate first_certificate(const owned_bio& pem) {
  owned_certificate first{PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)};
  require(first != nullptr, "certificate");
  return first;
}
/// Null at the end of the text, which OpenSSL reports as an error, too.
owned_certificate next_certificate(const owned_bio& pem) {
  owned_certificate next{PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)};
  require(next || ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE, "certificate");
  ERR_clear_error();
  return next;
}

/// In place of OpenSSL's, which asks for the password on the terminal.
int no_password(char*, int, int, void*) { return -1; }

void present(SSL_CTX* context, std::string_view chain_pem, std::string_view key_pem) {
  const owned_bio chain = text_source(chain_pem), key_text = text_source(key_pem);
  require(SSL_CTX_use_certificate(context, first_certificate(chain).get()) == 1, "certificate");
  SSL_CTX_clear_chain_certs(context);
  while (const owned_certificate next = next_certificate(chain))
    require(SSL_CTX_add1_chain_cert(context, next.get()) == 1, "chain of certificates");
  const owned_key key{PEM_read_bio_PrivateKey(key_text.get(), nullptr, &no_password, nullptr)};
  require(key && SSL_CTX_use_PrivateKey(context, key.get()) == 1, "private key");
}

void trust(SSL_CTX* context, std::string_view pem, bool tells_clients) {
  const owned_bio text = text_source(pem);
  for (owned_certificate next = first_certificate(text); next; next = next_certificate(text)) {
    require(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), next.get()) == 1, "certificate");
    if (tells_clients) require(SSL_CTX_add_client_CA(context, next.get()) == 1, "certificate");
  }
  // A certificate that is trusted need not be an authority's.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

/// The names as the protocol encodes them. A server's are owned by its SSL_CTX.
std::string encoded(std::initializer_list<std::string_view> names) {
  ERR_clear_error();
  std::string all;
  for (const std::string_view name : names) {
    require(!name.empty() && name.size() <= 255, "the name of a protocol has 1 to 255 bytes");
    all += static_cast<char>(name.size());
    all += name;
  }
  return all;
}
void forget_names(void*, void* names, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::string*>(names);
}
int place_of_names() {
  static const int place = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &forget_names);
  return place;
}
int choose(SSL* connection, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
           unsigned offered_size, void*) {
  const auto* const names =
      static_cast<std::string*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), place_of_names()));
  unsigned char* agreed = nullptr;
  const int result =
      SSL_select_next_proto(&agreed, size, reinterpret_cast<const unsigned char*>(names->data()),
                            static_cast<unsigned>(names->size()), offered, offered_size);
  *chosen = agreed;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}
}  // namespace

context::context(bool is_client)
    : context_(SSL_CTX_new(is_client ? TLS_client_method() : TLS_server_method())), is_client_(is_client) {
  if (!context_) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  // So that writing does not wait for something to read.
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS);
  if (is_client) SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  // Without one, a client whose certificate was verified cannot resume its session.
  constexpr unsigned char id[] = {'c', 'o', 'r', 'a', 'c', 'l', 'e'};
  SSL_CTX_set_session_id_context(context_, id, sizeof id);
}
context::~context() { SSL_CTX_free(context_); }

context context::client() {
  context made{true};
  ERR_clear_error();
  require(SSL_CTX_set_default_verify_paths(made.context_) == 1, "the system's certificates");
  return made;
}
context context::client_trusting(std::string_view pem) {
  context made{true};
  trust(made.context_, pem, false);
  return made;
}
context context::server(std::string_view chain_pem, std::string_view key_pem) {
  context made{false};
  tls::present(made.context_, chain_pem, key_pem);
  return made;
}

void context::present(std::string_view chain_pem, std::string_view key_pem) {
  tls::present(context_, chain_pem, key_pem);
}
void context::verify_clients(std::string_view authorities_pem, client_certificate needed) {
  CORACLE_REQUIRE(!is_client_, "verify_clients() of a client's context: a client always verifies its server");
  trust(context_, authorities_pem, true);
  const int required = needed == client_certificate::required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | required, nullptr);
}
void context::set_protocols(std::initializer_list<std::string_view> names) {
  std::string all = encoded(names);
  if (is_client_) {
    // It returns 0 if all is well.
    const int failed = SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(all.data()),
                                               static_cast<unsigned>(all.size()));
    if (failed) throw std::bad_alloc();
    return;
  }
  const int place = place_of_names();
  auto kept = std::make_unique<std::string>(std::move(all));
  auto* const before = static_cast<std::string*>(SSL_CTX_get_ex_data(context_, place));
  if (SSL_CTX_set_ex_data(context_, place, kept.get()) != 1) throw std::bad_alloc();
  static_cast<void>(kept.release());
  delete before;
  SSL_CTX_set_alpn_select_cb(context_, &choose, nullptr);
}
}  // namespace coracle::tls
