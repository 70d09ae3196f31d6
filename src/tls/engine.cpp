// SPDX-License-Identifier: MIT
#include "engine.hpp"

#include <openssl/x509v3.h>

#include <coracle/base/exchange.hpp>
#include <cstring>
#include <new>
#include <string>

namespace coracle::tls::detail {
namespace {
/// The longest record, encrypted, and its header fit.
constexpr std::size_t input_size = 17 * 1024;
constexpr std::size_t most_at_once = SSL3_RT_MAX_PLAIN_LENGTH;

void require_name(SSL* ssl, std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::string name{host};
  require(!name.empty() && name.find('\0') == name.npos, "a client needs the name of its server");
  X509_VERIFY_PARAM* const verified = SSL_get0_param(ssl);
  // An address is no name: it is not sent, and compared with the addresses of the certificate.
  if (X509_VERIFY_PARAM_set1_ip_asc(verified, name.c_str()) == 1) return;
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(verified,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  require(SSL_set_tlsext_host_name(ssl, name.c_str()) == 1 && SSL_set1_host(ssl, name.c_str()) == 1,
          "the name of the server");
}
}  // namespace

engine::engine(const context& common, std::string_view host)
    : ssl_(SSL_new(common.native_handle())), input_(new std::byte[input_size]) {
  ERR_clear_error();
  BIO* const bio = BIO_new(memory());
  if (!ssl_ || !bio) {
    BIO_free(bio);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // which owns it now
  if (common.is_client()) {
    SSL_set_connect_state(ssl_.get());
    require_name(ssl_.get(), host);
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

progress engine::handshake() noexcept {
  const progress how = run([&] { return SSL_do_handshake(ssl_.get()); });
  if (how == progress::done) is_established_ = true;
  return how;
}
progress engine::read(mutable_buffer to, std::size_t& got) noexcept {
  return run([&] { return SSL_read_ex(ssl_.get(), to.data(), to.size(), &got); });
}
progress engine::write(const_buffer bytes, std::size_t& taken) noexcept {
  const std::size_t size = bytes.size() < most_at_once ? bytes.size() : most_at_once;
  return run([&] { return SSL_write_ex(ssl_.get(), bytes.data(), size, &taken); });
}
progress engine::shutdown() noexcept {
  // Called again, it would read.
  if (is_shut_down_) return progress::done;
  const progress how = run([&] { return SSL_shutdown(ssl_.get()) < 0 ? -1 : 1; });
  is_shut_down_ = how == progress::done;
  return how;
}

template <class Call>
progress engine::run(Call call) noexcept {
  if (has_failed_) return progress::failed;
  ERR_clear_error();  // SSL_get_error() takes any error in the queue for one of this call
  const int result = call();
  const int why = SSL_get_error(ssl_.get(), result);
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  switch (why) {
    case SSL_ERROR_NONE:
      return progress::done;
    case SSL_ERROR_WANT_READ:
      return progress::needs_input;
    case SSL_ERROR_ZERO_RETURN:
      return progress::ended;
    default:
      has_failed_ = true;
      failure_ = code;
      verification_ = SSL_get_verify_result(ssl_.get());
      return progress::failed;
  }
}

void engine::raise() const {
  const int reason = ERR_GET_REASON(failure_);
  const bool is_of_ssl = ERR_GET_LIB(failure_) == ERR_LIB_SSL;
  if (reason == ERR_R_MALLOC_FAILURE) throw std::bad_alloc();
  if (is_of_ssl && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
    throw error(errc::certificate_rejected, std::string{"the certificate is not accepted: "} +
                                                X509_verify_cert_error_string(verification_));
  const char* const known = ERR_reason_error_string(failure_);
  const std::string text = known ? std::string{"TLS: "} + known : "TLS failed";
  if (is_of_ssl && reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    throw error(errc::certificate_rejected, text);
  // OpenSSL numbers the alerts that it gets from here on.
  if (is_of_ssl && reason >= SSL_AD_REASON_OFFSET) throw error(errc::alert_received, text);
  throw error(errc::protocol_error, text);
}

std::span<std::byte> engine::room() noexcept {
  input_begin_ = input_end_ = 0;
  return {input_.get(), input_size};
}
std::span<const std::byte> engine::unsent() noexcept {
  if (sent_ == sending_.size()) {
    // An idle connection keeps no memory for what it sends.
    sending_ = coracle::detail::exchange(queued_, {});
    sent_ = 0;
  }
  return std::span<const std::byte>{sending_}.subspan(sent_);
}

BIO_METHOD* engine::memory() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coracle");
    if (made) {
      BIO_meth_set_read_ex(made, &take_input);
      BIO_meth_set_write_ex(made, &queue_output);
      BIO_meth_set_ctrl(made, &control);
    }
    return made;
  }();
  return method;
}
int engine::take_input(BIO* bio, char* to, std::size_t size, std::size_t* taken) noexcept {
  auto& self = *static_cast<engine*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const std::size_t left = self.input_end_ - self.input_begin_;
  *taken = size < left ? size : left;
  if (*taken == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(to, &self.input_[self.input_begin_], *taken);
  self.input_begin_ += *taken;
  return 1;
}
int engine::queue_output(BIO* bio, const char* bytes, std::size_t size, std::size_t* queued) noexcept {
  auto& self = *static_cast<engine*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  try {
    const auto* const first = static_cast<const std::byte*>(static_cast<const void*>(bytes));
    self.queued_.insert(self.queued_.end(), first, first + size);
  } catch (const std::bad_alloc&) {
    ERR_raise(ERR_LIB_BIO, ERR_R_MALLOC_FAILURE);
    return 0;
  }
  *queued = size;
  return 1;
}
long engine::control(BIO*, int command, long, void*) noexcept { return command == BIO_CTRL_FLUSH ? 1 : 0; }
}  // namespace coracle::tls::detail
