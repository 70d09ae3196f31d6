// coracle/tls/stream.hpp -- TLS over any stream of bytes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/chrono.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/detail/connection.hpp>
#include <coracle/tls/error.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::tls {
namespace detail {
// Compiled into the library, so that a program without exceptions gets the errors of a socket, too.
extern template class carried<net::socket>;

/// A token that can stop nothing leaves the inherited one.
template <class T>
CORACLE_CORO_WRAPPER()
task<T> obeying(task<T> work, stop_token token) {
  if (!token.stop_possible()) return work;
  return with_stop(std::move(work), std::move(token));
}
}  // namespace detail

/// Encrypts what it is given and passes it to the byte_stream below, such as a socket; a byte_stream itself,
/// which a buffered_reader can read.
///
///     coracle::tls::stream secure{std::move(client), common};  // `common`: a tls::context
///     co_await coracle::timeout(secure.handshake(), 2s);
///     co_await secure.send_all("hello");
///     co_await secure.shutdown();
///
/// Prefer tls::connect() for a client. OpenSSL works on memory, and coroutines move the bytes between this
/// memory and the stream below.
///
/// Order         one read at a time, and one write; further ones wait as for an async_mutex.
/// Resumes on    the executor on which it was awaited, as the stream below.
/// Cancellation  ends the wait, and nothing is lost: what has come is kept for the next read_some(), a
///               handshake is continued by the next handshake(). write_some() succeeds if its bytes have been
///               encrypted: what is left to send goes first in the next write_some(), send_all() or
///               shutdown().
/// Exceptions    tls::error, with a code of tls::errc; those of the stream below. After a tls::error other
///               than errc::truncated, all operations fail with it.
/// Threads       one thread or strand at a time. One coroutine may read while another writes: a program that
///               reads only after it has sent everything deadlocks if the other side does so, too. Do not
///               move or destroy it while an operation is pending.
/// Cost          17 KiB to receive, about 16 KiB of OpenSSL's, and a record of up to 16 KiB while it is sent;
///               a frame for each operation, and two for each wait for the stream below. A handshake computes
///               for up to a millisecond, on the thread that runs it.
template <class Stream>
class stream {
  static_assert(
      coracle::detail::is_byte_source<Stream> && coracle::detail::is_byte_sink<Stream>,
      "a tls::stream owns a byte_stream, such as a net::socket: an object that has read_some(span, "
      "stop_token) and write_some(span, stop_token). Move it in: tls::stream secure{std::move(client), "
      "context}");

 public:
  /// A client's handshake fails unless the server proves that it is `host`, a name or an address. The name
  /// is sent unencrypted (SNI). A server needs no `host`. Throws tls::error, std::bad_alloc.
  stream(Stream below, const context& common, std::string_view host = {})
      : below_(std::move(below)), connection_(common, host) {}

  // Each operation takes a token, which replaces the inherited one.

  /// Awaitable of nothing: agrees on keys, and verifies certificates. Await it before any other operation.
  CORACLE_CORO_WRAPPER() task<> handshake(stop_token token = {}) {
    return detail::obeying<void>(connection_.handshake(below_), std::move(token));
  }
  template <class Rep, class Period>
  auto handshake(std::chrono::duration<Rep, Period>) {
    net::detail::no_time_limit<Rep>();
    return handshake();
  }
  /// Awaitable of the number of bytes stored in `to`, at least one; 0 when the other side has ended its
  /// stream by shutdown(). If the connection ends otherwise, the error is errc::truncated. Requires: `to` is
  /// not empty.
  CORACLE_CORO_WRAPPER() task<std::size_t> read_some(mutable_buffer to, stop_token token = {}) {
    CORACLE_CHECK(to.size() != 0, coracle::detail::reads_nothing);
    return detail::obeying<std::size_t>(connection_.read_some(below_, to), std::move(token));
  }
  CORACLE_CORO_WRAPPER() task<std::size_t> read_some(void* buffer, byte_count size, stop_token token = {}) {
    return read_some(mutable_buffer{buffer, size}, std::move(token));
  }
  /// Awaitable of the number of bytes taken from `bytes`, at most the 16 KiB of a record. They have been
  /// passed to the stream below, unless stop was requested meanwhile. After shutdown():
  /// std::errc::broken_pipe.
  CORACLE_CORO_WRAPPER() task<std::size_t> write_some(const_buffer bytes, stop_token token = {}) {
    return detail::obeying<std::size_t>(connection_.write_some(below_, bytes), std::move(token));
  }
  CORACLE_CORO_WRAPPER()
  task<std::size_t> write_some(const void* buffer, byte_count size, stop_token token = {}) {
    return write_some(const_buffer{buffer, size}, std::move(token));
  }
  /// Awaitable of nothing, which completes when all bytes have been passed to the stream below. After a
  /// cancellation or an error, `*sent`, if given, is the number of bytes taken; pass it again to continue
  /// from there, even if all were taken.
  CORACLE_CORO_WRAPPER()
  task<> send_all(const_buffer bytes, stop_token token = {}, std::size_t* sent = nullptr) {
    return detail::obeying<void>(connection_.send_all(below_, bytes, sent), std::move(token));
  }
  CORACLE_CORO_WRAPPER()
  task<> send_all(const void* buffer, byte_count size, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all(const_buffer{buffer, size}, std::move(token), sent);
  }
  /// Awaitable of nothing: tells the other side that this one sends no more, so that it knows that it has
  /// everything. Reading goes on. Before close(), read until the end of the other side's stream: a socket
  /// that is closed while something is unread, such as a session ticket, may lose what was sent last. Does
  /// nothing before the handshake.
  CORACLE_CORO_WRAPPER() task<> shutdown(stop_token token = {}) {
    return detail::obeying<void>(connection_.shutdown(below_), std::move(token));
  }
  /// Closes the stream below, without a shutdown().
  void close() noexcept
    requires requires(Stream& below) { below.close(); }
  {
    below_.stream.close();
  }

  /// The application protocol that was agreed on, such as "h2"; empty if none was: context::set_protocols().
  [[nodiscard]] std::string_view alpn() const noexcept { return connection_.alpn(); }
  /// Such as "TLSv1.3".
  [[nodiscard]] std::string_view protocol() const noexcept { return connection_.protocol(); }
  /// The subject of the other side's certificate, such as "CN=Alice,O=Example" (RFC 2253, UTF-8); empty if it
  /// has presented none. It was verified, unless a native_handle() has changed that. Throws std::bad_alloc.
  [[nodiscard]] std::string peer_subject() const { return connection_.peer_subject(); }
  /// The stream below. What is read from it or written to it directly breaks the connection.
  [[nodiscard]] Stream& below() noexcept { return below_.stream; }
  [[nodiscard]] const Stream& below() const noexcept { return below_.stream; }
  /// For what has no function here: SSL_get_...() of <openssl/ssl.h>. What moves bytes is not for callers.
  [[nodiscard]] ssl_st* native_handle() const noexcept { return connection_.native_handle(); }

 private:
  detail::carried<Stream> below_;
  detail::connection connection_;
};
}  // namespace coracle::tls
