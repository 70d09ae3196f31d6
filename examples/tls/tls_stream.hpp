// examples/tls/tls_stream.hpp -- TLS over any byte_stream, by OpenSSL.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <string>
#include <utility>

#include "tls_context.hpp"

namespace tls {
/// A byte_stream that encrypts what it is given and passes it to the stream below, such as a socket.
///
///     tls::stream secure{std::move(connection), common, "example.org"};
///     co_await secure.handshake();
///     co_await secure.send_all("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
///
/// OpenSSL reads from one piece of memory and writes to another; the coroutines move bytes between these and
/// the stream below. So no thread blocks, and all waits obey time limits and stop requests.
///
/// Resumes on    as the stream below.
/// Cancellation  nothing is lost: what has come is kept for the next read_some(). What write_some() has
///               encrypted is part of the stream; the next write_some(), or shutdown(), sends what is left.
///               A handshake that was stopped cannot be continued.
/// Exceptions    tls::error; those of the stream below.
/// Threads       one thread or strand at a time. One coroutine may read while another writes.
/// Cost          two buffers of 16 KiB and what OpenSSL needs; a frame for each operation, and one for each
///               wait for the stream below.
template <coracle::byte_stream Stream>
class stream {
 public:
  /// A client's handshake fails unless the server proves that it is `host`. A server needs no `host`.
  stream(Stream below, const context& common, const std::string& host = {})
      : below_(std::move(below)), ssl_(SSL_new(common.get())) {
    require(ssl_ != nullptr, "connection");
    SSL* const ssl = ssl_.get();
    received_ = BIO_new(BIO_s_mem());
    to_send_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, received_, to_send_);  // which owns them now
    require(received_ && to_send_, "no memory");
    if (!common.is_client()) {
      SSL_set_accept_state(ssl);
      return;
    }
    SSL_set_connect_state(ssl);
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
    require(!host.empty() && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1 &&
                SSL_set1_host(ssl, host.c_str()) == 1,
            "a client needs the name of its server");
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Agrees on keys. Await it first, and only once.
  coracle::task<> handshake() {
    const auto step = [this] { return SSL_do_handshake(ssl_.get()); };
    co_await run(step);
    if (!SSL_is_init_finished(ssl_.get())) throw error("the other side ended the handshake");
    co_await flush();  // a server's last message
  }
  /// Awaitable of the number of bytes stored in `to`, or of 0 when the other side has ended the stream. A
  /// connection that ends otherwise is an error: somebody may have cut it.
  coracle::task<std::size_t> read_some(coracle::mutable_buffer to) {
    if (to.size() == 0) co_return to.size();
    std::size_t got = 0;
    const auto step = [&] { return SSL_read_ex(ssl_.get(), to.data(), to.size(), &got); };
    co_await run(step);
    co_await flush_if_idle();  // an answer to a request for new keys
    co_return got;
  }
  coracle::task<std::size_t> read_some(std::span<std::byte> to, coracle::stop_token token) {
    auto reading = read_some(coracle::mutable_buffer{to});
    return token.stop_possible() ? coracle::with_stop(std::move(reading), std::move(token))
                                 : std::move(reading);
  }
  /// Awaitable of the number of bytes taken from `bytes`, at most one record of 16 KiB. They have been sent,
  /// unless a stop request came meanwhile.
  coracle::task<std::size_t> write_some(coracle::const_buffer bytes) {
    if (bytes.size() == 0) co_return bytes.size();
    co_await flush();  // what an earlier call had to leave
    std::size_t taken = 0;
    const std::size_t wanted = bytes.size() < record_size ? bytes.size() : record_size;
    const auto step = [&] { return SSL_write_ex(ssl_.get(), bytes.data(), wanted, &taken); };
    co_await run(step);
    auto sent = co_await coracle::as_outcome(flush());
    if (!sent.is_cancelled()) std::move(sent).get();
    co_return taken;
  }
  coracle::task<std::size_t> write_some(std::span<const std::byte> bytes, coracle::stop_token token) {
    auto writing = write_some(coracle::const_buffer{bytes});
    return token.stop_possible() ? coracle::with_stop(std::move(writing), std::move(token))
                                 : std::move(writing);
  }
  coracle::task<> send_all(coracle::const_buffer bytes) {
    for (auto rest = bytes.bytes(); !rest.empty();) {
      const std::size_t taken = co_await write_some(rest);
      rest = rest.subspan(taken);
    }
  }
  /// Tells the other side that nothing more will come, so that it knows that it has everything.
  coracle::task<> shutdown() {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    co_await flush();
  }

  /// Such as "TLSv1.3".
  [[nodiscard]] const char* protocol() const noexcept { return SSL_get_version(ssl_.get()); }

 private:
  static constexpr std::size_t record_size = 16 * 1024;

  /// Calls `step`, a function of OpenSSL's, until it has what it needs from the other side.
  template <class Step>
  coracle::task<> run(const Step& step) {
    for (;;) {
      ERR_clear_error();  // SSL_get_error() would take an error of another connection for one of this
      const int result = step();
      const int why = SSL_get_error(ssl_.get(), result);
      if (why == SSL_ERROR_NONE || why == SSL_ERROR_ZERO_RETURN) co_return;
      if (why != SSL_ERROR_WANT_READ) break;
      // A handshake waits for an answer to what it has to say; a reader leaves the sending to the writer.
      if (!SSL_is_init_finished(ssl_.get())) co_await flush();
      co_await receive();
    }
    const std::string reason = describe_failure();
    co_await flush_if_idle();  // tells the other side, too
    throw error(reason);
  }
  coracle::task<> receive() {
    const std::size_t size = co_await below_.read_some(std::span<std::byte>{incoming_}, {});
    if (size == 0) throw error("the connection ended without the end of the TLS stream");
    require(BIO_write(received_, incoming_.data(), static_cast<int>(size)) > 0, "no memory");
  }
  /// Sends what OpenSSL has written.
  coracle::task<> flush() {
    const auto lock = co_await sending_.scoped_lock_async();
    co_await send_pending();
  }
  /// The same for a reader, unless a writer is there to send it. Ends well: what has been read counts, and
  /// what is left or has failed is for the next writer.
  coracle::task<> flush_if_idle() {
    if (BIO_pending(to_send_) == 0 || !sending_.try_lock()) co_return;
    const auto lock = coracle::async_mutex_lock::adopt(sending_);
    static_cast<void>(co_await coracle::as_outcome(send_pending()));
  }
  /// Requires: sending_ is locked.
  coracle::task<> send_pending() {
    for (;;) {
      if (sent_ == outgoing_size_) {
        const int size = BIO_read(to_send_, outgoing_.data(), static_cast<int>(outgoing_.size()));
        if (size <= 0) co_return;
        sent_ = 0;
        outgoing_size_ = static_cast<std::size_t>(size);
      }
      const std::span<const std::byte> rest{outgoing_.data() + sent_, outgoing_size_ - sent_};
      sent_ += co_await below_.write_some(rest, {});
    }
  }
  std::string describe_failure() {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK)
      return std::string{"the certificate is not accepted: "} + X509_verify_cert_error_string(verified);
    const unsigned long code = ERR_get_error();
    const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason ? reason : "TLS failed";
  }

  Stream below_;
  owned<SSL, SSL_free> ssl_;
  BIO* received_ = nullptr;
  BIO* to_send_ = nullptr;
  coracle::async_mutex sending_;
  std::array<std::byte, record_size> incoming_, outgoing_;
  std::size_t sent_ = 0, outgoing_size_ = 0;  // of outgoing_
};
}  // namespace tls
