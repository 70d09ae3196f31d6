// tests/support/tls_identity.hpp -- certificates and keys for tests of TLS, as PEM text.
// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace coracle_test {
/// A certificate and its private key.
struct identity {
  std::string certificate, key;
};

/// Signs certificates; the first one is its own.
class authority {
 public:
  explicit authority(const std::string& name = "test authority")
      : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")), certificate_(X509_new()) {
    fill(certificate_.get(), key_.get(), name, 0, hours_left);
    add(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    sign(certificate_.get());
  }
  [[nodiscard]] std::string certificate() const { return text_of(certificate_.get()); }

  /// `names`: as OpenSSL writes them, such as "DNS:example.org, IP:127.0.0.1"; the first one is the subject,
  /// too. `key_password` encrypts the key.
  [[nodiscard]] identity issue(const std::string& names, long hours = hours_left,
                               const std::string& key_password = {}) const {
    const key_pointer key{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")};
    const certificate_pointer made{X509_new()};
    const std::string first = names.substr(0, names.find(','));
    fill(made.get(), key.get(), first.substr(first.find(':') + 1), hours - 2 * hours_left, hours);
    add(made.get(), NID_subject_alt_name, names.c_str());
    sign(made.get());
    const bio_pointer text{BIO_new(BIO_s_mem())};
    require(PEM_write_bio_PKCS8PrivateKey(
                text.get(), key.get(), key_password.empty() ? nullptr : EVP_aes_128_cbc(),
                key_password.data(), static_cast<int>(key_password.size()), nullptr, nullptr) == 1);
    return {text_of(made.get()), text_of(text)};
  }

  static constexpr long hours_left = 24;

 private:
  struct destroyer {
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const noexcept { X509_free(certificate); }
    void operator()(BIO* bio) const noexcept { BIO_free_all(bio); }
    void operator()(X509_EXTENSION* extension) const noexcept { X509_EXTENSION_free(extension); }
  };
  using key_pointer = std::unique_ptr<EVP_PKEY, destroyer>;
  using certificate_pointer = std::unique_ptr<X509, destroyer>;
  using bio_pointer = std::unique_ptr<BIO, destroyer>;

  static void require(bool is_good) {
    if (!is_good) std::abort();
  }
  /// `from`, `until`: in hours from now.
  void fill(X509* made, EVP_PKEY* key, const std::string& name, long from, long until) const {
    static long serial = 0;
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made), from * 3600 - 60);
    X509_gmtime_adj(X509_getm_notAfter(made), until * 3600);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.data()),
                               static_cast<int>(name.size()), -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(certificate_.get()));
  }
  static void add(X509* made, int kind, const char* value) {
    const std::unique_ptr<X509_EXTENSION, destroyer> added{
        X509V3_EXT_conf_nid(nullptr, nullptr, kind, value)};
    require(added && X509_add_ext(made, added.get(), -1) == 1);
  }
  void sign(X509* made) const { require(X509_sign(made, key_.get(), nullptr) != 0); }
  static std::string text_of(const bio_pointer& written) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(written.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
  static std::string text_of(X509* certificate) {
    const bio_pointer text{BIO_new(BIO_s_mem())};
    require(PEM_write_bio_X509(text.get(), certificate) == 1);
    return text_of(text);
  }

  key_pointer key_;
  certificate_pointer certificate_;
};

/// One for all tests of a program: it takes a while to make.
inline const authority& test_authority() {
  static const authority one;
  return one;
}
/// Of a server with the names of this machine and "server".
inline const identity& test_server() {
  static const identity one = test_authority().issue("DNS:localhost, DNS:server, IP:127.0.0.1");
  return one;
}
}  // namespace coracle_test
