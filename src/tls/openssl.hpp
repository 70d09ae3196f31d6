// src/tls/openssl.hpp -- what OpenSSL owns, and its errors.
// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <coracle/tls/error.hpp>
#include <memory>
#include <string>

namespace coracle::tls::detail {
template <auto destroy>
struct destroyer {
  template <class T>
  void operator()(T* owned) const noexcept {
    destroy(owned);
  }
};
template <class T, auto destroy>
using owned = std::unique_ptr<T, destroyer<destroy>>;
using owned_bio = owned<BIO, BIO_free_all>;
using owned_certificate = owned<X509, X509_free>;
using owned_key = owned<EVP_PKEY, EVP_PKEY_free>;

/// Throws errc::bad_configuration, with the oldest error that OpenSSL has queued on this thread, unless
/// `is_good`. The queue must have been cleared before the call whose result this is.
inline void require(bool is_good, const std::string& what) {
  if (is_good) return;
  const unsigned long code = ERR_get_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  throw error(errc::bad_configuration, reason ? what + ": " + reason : what);
}
}  // namespace coracle::tls::detail
