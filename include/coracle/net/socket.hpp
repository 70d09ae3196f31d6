// coracle/net/socket.hpp -- TCP and UDP, over IPv4 and IPv6.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/net/detail/socket_operations.hpp>
#include <string>
#include <string_view>

namespace coracle {
class io_service;
}  // namespace coracle

namespace coracle::net {
/// A socket: one end of a TCP connection, a TCP server's listening socket, or a UDP socket. Move-only.
///
///     socket connection = co_await listener.accept();
///     std::size_t size = co_await connection.recv(buffer, sizeof buffer);  // 0: the peer sends no more
///     co_await connection.send_all(buffer, size);
///
/// Order         operations that receive (or accept) are carried out in the order in which they were awaited,
///               and likewise those that send. Receiving and sending are independent of each other.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that runs the
///               io_service, if it had to wait.
/// Cancellation  every operation takes a stop token, or else uses the inherited one. Stop requested before:
///               nothing is started; during: the wait ends immediately. Received data is always delivered: a
///               cancelled recv() or accept() loses neither data nor connections. After a cancelled
///               connect(), close the socket.
/// Small sends   TCP sends immediately (TCP_NODELAY, also for accepted connections): a small send does not
///               wait until the previous one has been acknowledged. Combine small pieces into one send, since
///               each may become a packet.
/// Exceptions    std::system_error, operation_cancelled. Sending to a peer that has closed the connection is
///               EPIPE or ECONNRESET, and raises no SIGPIPE. The system reports a reset once, to the first
///               operation that meets it. After that recv() returns 0, as at the end of the stream, and
///               send() is EPIPE.
/// Threads       operations from any number of threads concurrently. During close(), a move, bind(),
///               connect() or disconnect(), the socket must not be used otherwise. The io_service must
///               outlive the socket.
/// Cost          48 bytes. An operation allocates nothing, except that a task has a frame, and suspends only
///               if it has to wait.
class socket {
 public:
  [[nodiscard]] static socket create_tcpv4(io_service& service);
  /// Bound to [::], it also accepts IPv4 clients, as ::ffff:1.2.3.4, unless the system forbids it (Linux does
  /// not by default) or IPV6_V6ONLY is set on native_handle().
  [[nodiscard]] static socket create_tcpv6(io_service& service);
  [[nodiscard]] static socket create_udpv4(io_service& service);
  [[nodiscard]] static socket create_udpv6(io_service& service);
  /// The socket of a descriptor that others have opened: a listener of the parent process or of the service
  /// manager, a connection that unix_socket::recv_message() has received. Sets its non-blocking mode, which
  /// all processes that have it share. Throws std::system_error, and closes the descriptor: not_a_socket, or
  /// address_family_not_supported if it is no TCP or UDP socket. Requires: `service` is not simulated.
  [[nodiscard]] static socket adopt(io_service& service, owned_descriptor opened);

  socket() = delete;                      // socket::create_tcpv4(io), or net::connect(io, host, port)
  explicit socket(io_service&) = delete;  // socket::create_tcpv4(io), or net::connect(io, host, port)
  socket(socket&& other) noexcept = default;
  socket& operator=(socket&& other) noexcept = default;
  /// As close().
  ~socket() = default;
  /// Closes the socket, if it is open. Sent data is still delivered, unless received data is unread, which
  /// resets the connection; disconnect() first to be sure. Requires: no operation on it is pending.
  void close() noexcept { descriptor_.close(); }

  /// The current local address and port; zero if the socket is not bound.
  [[nodiscard]] ip_endpoint local_endpoint() const noexcept;
  /// The endpoint that the socket was last connected to, even if the connection has ended; zero if there was
  /// none, or after disconnect().
  [[nodiscard]] const ip_endpoint& remote_endpoint() const noexcept { return remote_; }
  /// The io_service that it is on. Requires: it is open.
  [[nodiscard]] io_service& service() const noexcept {
    CORACLE_REQUIRE(
        descriptor_.is_open(),
        "service() of a socket that is closed or moved from: ask an open one, or keep a reference "
        "to the io_service");
    return *descriptor_.service();
  }
  /// The descriptor, for options that this class does not set; -1 if the socket is closed.
  [[nodiscard]] int native_handle() const noexcept { return descriptor_.native_handle(); }

  /// Port 0 selects a free port. A TCP port can be reused while connections of an earlier server linger
  /// (SO_REUSEADDR).
  void bind(const ip_endpoint& local);
  template <detail::not_an_endpoint Address, class... Port>
  void bind(const Address&, const Port&...) {
    static_assert(!sizeof(Address*),
                  "bind() needs an ip_endpoint: write ipv4_endpoint{address, port}, where ipv4_address{} is "
                  "every local address, or ip_endpoint::from_string(text).value()");
  }
  /// Lets clients connect. `backlog` limits how many connections wait to be accepted; the system may have a
  /// lower limit.
  void listen(std::uint32_t backlog);
  void listen();

  // The operations require that the socket is open, and not moved before they have ended.

  /// Awaitable of nothing. A TCP socket that is already connected: std::errc::already_connected. A connected
  /// UDP socket sends to, and receives from, `remote` only.
  socket_connect_operation connect(const ip_endpoint& remote, stop_token token = {}) noexcept;
  template <detail::not_an_endpoint Address, class... Port>
  socket_connect_operation connect(const Address&, const Port&...) {
    static_assert(
        !sizeof(Address*),
        "socket::connect() needs an ip_endpoint, such as ipv4_endpoint{address, port}: for the name "
        "of a host, write net::connect(io, host, port), which makes the socket");
    return connect(ip_endpoint{});
  }
  template <class Rep, class Period>
  auto connect(const ip_endpoint& remote, std::chrono::duration<Rep, Period>) {
    detail::no_time_limit<Rep>();
    return connect(remote);
  }
  /// Awaitable of the next connection, a socket. If the process has no descriptor left, the error is
  /// std::errc::too_many_files_open, and the connection stays in the backlog.
  socket_accept_new_operation accept(stop_token token = {}) noexcept;
  /// Awaitable of nothing: replaces `accepted` with the next connection, on the io_service of `accepted`. The
  /// socket that it was before is closed. Requires: `accepted` is not moved meanwhile.
  socket_accept_operation accept(socket& accepted, stop_token token = {}) noexcept;
  template <class Rep, class Period>
  auto accept(std::chrono::duration<Rep, Period>) {
    detail::no_time_limit<Rep>();
    return accept();
  }
  /// As accept(), but the new socket is on `service`, whose thread then carries out its operations.
  socket_accept_on_operation accept_on(io_service& service, stop_token token = {}) noexcept;
  /// Awaitable of nothing. TCP: sends the queued data and the end of the stream, then waits until the peer
  /// has closed its side too, and discards what it still sends. UDP: undoes connect(). Requires: no receive
  /// operation is pending.
  CORACLE_CORO_WRAPPER()
  task<> disconnect(stop_token token = {}) { return disconnect_body(std::move(token)); }

  /// Awaitable of the number of bytes sent: TCP may take fewer than `size`, UDP sends one datagram.
  socket_send_operation send(const void* buffer, byte_count size, stop_token token = {}) noexcept {
    return {descriptor_, buffer, size, std::move(token)};
  }
  socket_send_operation send(const_buffer bytes, stop_token token = {}) noexcept {
    return send(bytes.data(), bytes.size(), std::move(token));
  }
  /// The same from several pieces of memory, one behind the other, with one system call. With more than 1024
  /// pieces, the error is std::errc::message_size. Requires: the array `from` outlives the operation.
  ///
  ///     const coracle::const_buffer parts[] = {header, body};
  ///     co_await client.send(parts);
  socket_send_operation send(const_buffers from, stop_token token = {}) noexcept;
  /// Awaitable of the number of bytes received. TCP: the bytes that have arrived, at least one; 0 at the end
  /// of the stream. UDP: one datagram, which may be empty; if it is longer than `size`, it is dropped, and
  /// the error is std::errc::message_size. Requires, for TCP: size != 0.
  socket_recv_operation recv(void* buffer, byte_count size, stop_token token = {}) noexcept {
    CORACLE_CHECK(size != 0 || !is_stream_, detail::receives_nothing);
    return {descriptor_, buffer, size, receive_flags(), std::move(token)};
  }
  socket_recv_operation recv(mutable_buffer to, stop_token token = {}) noexcept {
    return recv(to.data(), to.size(), std::move(token));
  }
  /// The same into several pieces of memory, each of which is filled before the next one is begun. With more
  /// than 1024 pieces, the error is std::errc::message_size. Requires: the array `to` outlives the operation;
  /// for TCP, not all pieces are empty.
  socket_recv_operation recv(mutable_buffers to, stop_token token = {}) noexcept {
    CORACLE_CHECK(detail::has_room(to) || !is_stream_, detail::receives_nothing);
    return {descriptor_, to, receive_flags(), std::move(token)};
  }
  template <class To, class Rep, class Period>
  auto recv(const To&, std::chrono::duration<Rep, Period>) {
    detail::no_time_limit<Rep>();
    return recv(nullptr, 0);
  }
  template <class Rep, class Period>
  auto recv(void* buffer, byte_count size, std::chrono::duration<Rep, Period>) {
    detail::no_time_limit<Rep>();
    return recv(buffer, size);
  }
  /// As send() and recv(): a TCP connection is a byte_stream.
  socket_send_operation write_some(const_buffer bytes, stop_token token = {}) noexcept {
    return send(bytes.data(), bytes.size(), std::move(token));
  }
  socket_recv_operation read_some(mutable_buffer to, stop_token token = {}) noexcept {
    return recv(to.data(), to.size(), std::move(token));
  }
  /// As send(), of text or bytes, to `destination`.
  socket_send_to_operation send_to(const ip_endpoint& destination, const void* buffer, byte_count size,
                                   stop_token token = {}) noexcept {
    return {descriptor_, destination, buffer, size, std::move(token)};
  }
  socket_send_to_operation send_to(const ip_endpoint& destination, const_buffer bytes,
                                   stop_token token = {}) noexcept {
    return send_to(destination, bytes.data(), bytes.size(), std::move(token));
  }
  /// As recv(), but awaitable of a tuple with the sender's endpoint.
  socket_recv_from_operation recv_from(void* buffer, byte_count size, stop_token token = {}) noexcept {
    return {*this, buffer, size, receive_flags(), std::move(token)};
  }
  socket_recv_from_operation recv_from(mutable_buffer to, stop_token token = {}) noexcept {
    return recv_from(to.data(), to.size(), std::move(token));
  }

  // Complete transfers on a TCP stream: tasks that repeat send() or recv(). After a cancellation or an error,
  // `*sent` or `*received`, if given, is the number of bytes transferred; pass it again to continue from
  // there, and set it to 0 before another transfer. Requires: no other operation of the same direction is
  // pending.

  /// Awaitable of nothing, which completes when all `size` bytes have been sent.
  CORACLE_CORO_WRAPPER()
  task<> send_all(const void* buffer, byte_count size, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all_body({buffer, size}, std::move(token), sent);
  }
  CORACLE_CORO_WRAPPER()
  task<> send_all(const_buffer bytes, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all_body(bytes, std::move(token), sent);
  }
  /// The same from several pieces of memory, of any number. Requires: the array `parts` outlives the task.
  CORACLE_CORO_WRAPPER()
  task<> send_all(const_buffers parts, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_parts_body(parts, std::move(token), sent);
  }
  /// Awaitable of `size` once that many bytes have been received, or of 0 if the stream ended before the
  /// first one. If the stream ends in between, the error is ENODATA.
  CORACLE_CORO_WRAPPER()
  task<std::size_t> recv_exactly(void* buffer, byte_count size, stop_token token = {},
                                 std::size_t* received = nullptr) {
    return recv_exactly_body({buffer, size}, std::move(token), received);
  }
  CORACLE_CORO_WRAPPER()
  task<std::size_t> recv_exactly(mutable_buffer to, stop_token token = {}, std::size_t* received = nullptr) {
    return recv_exactly_body(to, std::move(token), received);
  }
  /// Awaitable of the number of bytes of `received` up to and including the first `delimiter`. Received data
  /// is appended; what follows the delimiter stays there for the next call, so erase what you have processed.
  ///
  ///     while (std::size_t size = co_await client.recv_until(text, "\n", 1024)) {
  ///       std::string line = text.substr(0, size);
  ///       text.erase(0, size);
  ///     }
  ///
  /// Returns 0 if the stream ends without a delimiter. If the first `limit` bytes contain none, the error is
  /// std::errc::message_size. Even after a cancellation or an error, `received` contains everything that was
  /// received. Takes linear time for any delimiter and any arrival of the data; allocates for a delimiter of
  /// more than 8 bytes. Requires: `received` is not accessed meanwhile, and `delimiter` is not empty.
  CORACLE_CORO_WRAPPER()
  task<std::size_t> recv_until(std::string& received, std::string_view delimiter, std::size_t limit,
                               stop_token token = {}) {
    return recv_until_body(received, delimiter, limit, std::move(token));
  }

  /// Ends the stream to the peer. Queued data is still delivered.
  void close_send();
  /// Ends the stream from the peer: recv(), including one that is waiting, returns 0 once the data that has
  /// arrived is read. All other operations that receive do so too, also those of a UDP socket, which must be
  /// connected. A listener listens no more: accept(), including one that is waiting, fails with
  /// std::errc::invalid_argument, and connections that wait to be accepted are reset.
  void close_recv();

 protected:
  /// Another socket, with a descriptor of its own, for the same connection or port; a closed one if this is
  /// closed. The connection ends when both are closed. If both receive, it is unspecified which of them gets
  /// the data. Throws std::system_error, in particular on a simulated host.
  [[nodiscard]] socket duplicate() const;

 private:
  friend socket_connect_operation;
  friend socket_accept_new_operation;
  friend socket_accept_operation;
  friend socket_accept_on_operation;
  friend socket_recv_from_operation;
  friend detail::send_file_operation;
  friend class recv_batch_operation;
  friend class send_batch_operation;
  friend class send_segments_operation;
  friend class recv_segments_operation;
  friend void join_datagrams(socket& receiver);

  socket(coracle::detail::io_descriptor&& descriptor, const ip_endpoint& remote, bool is_stream) noexcept
      : descriptor_(std::move(descriptor)), remote_(remote), is_stream_(is_stream) {}
  static socket create(io_service& service, const ip_endpoint& unspecified, bool is_stream);
  int receive_flags() const noexcept { return is_stream_ ? 0 : detail::tells_whole_size; }

  coracle::detail::library_task<> disconnect_body(stop_token token);
  coracle::detail::library_task<> send_all_body(const_buffer bytes, stop_token token, std::size_t* sent);
  coracle::detail::library_task<> send_parts_body(const_buffers parts, stop_token token, std::size_t* sent);
  coracle::detail::library_task<std::size_t> recv_exactly_body(mutable_buffer to, stop_token token,
                                                               std::size_t* received);
  coracle::detail::library_task<std::size_t> recv_until_body(std::string& received,
                                                             std::string_view delimiter, std::size_t limit,
                                                             stop_token token);

  coracle::detail::io_descriptor descriptor_;
  ip_endpoint remote_;  // of the socket's family, even if it is zero
  bool is_stream_;
};

}  // namespace coracle::net
