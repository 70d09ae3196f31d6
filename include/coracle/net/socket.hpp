// coracle/net/socket.hpp -- TCP and UDP, over IPv4 and IPv6.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/net/detail/delimiter_search.hpp>
#include <coracle/net/detail/socket_operations.hpp>
#include <span>
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
/// Order         those that wait to receive (or to accept), and those that wait to send, get their turn in the
///               order in which they were awaited. Receiving and sending do not wait for each other.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that runs the io_service, if it had
///               to wait.
/// Cancellation  every operation takes a stop token, else obeys the inherited one. Requested before: nothing is
///               started; during: the wait ends at once. What was received is delivered; after a cancelled
///               recv() or accept() the data or the connection are still there. After a cancelled connect()
///               the socket is only good to be closed.
/// Small sends   TCP sends at once (TCP_NODELAY; accepted connections too): a small send does not wait until the one
///               before it is acknowledged. Put together what belongs together, since each may be a packet.
/// Exceptions    std::system_error, operation_cancelled. Sending to a peer that has gone: EPIPE or ECONNRESET,
///               no SIGPIPE.
/// Threads       operations from any number of threads at once. Closing, moving, bind(), connect(), disconnect():
///               no other use of the socket meanwhile. The io_service outlives the socket.
/// Cost          48 bytes; an operation allocates nothing, but what is a task its frame, and suspends only if it
///               has to wait.
class socket {
 public:
  [[nodiscard]] static socket create_tcpv4(io_service& service);
  /// Bound to [::] it gets IPv4 clients too, as ::ffff:1.2.3.4, where the system does not forbid it (Linux does
  /// not); set IPV6_V6ONLY on native_handle() to forbid it.
  [[nodiscard]] static socket create_tcpv6(io_service& service);
  [[nodiscard]] static socket create_udpv4(io_service& service);
  [[nodiscard]] static socket create_udpv6(io_service& service);

  socket(socket&& other) noexcept = default;
  socket& operator=(socket&& other) noexcept = default;
  /// As close().
  ~socket() = default;
  /// Closes it, if it is open. What was sent is still delivered, but a peer whose data were not read sees the
  /// connection reset; disconnect() first to be sure. Requires: no operation on it is pending.
  void close() noexcept { descriptor_.close(); }

  /// Its address and port, as the kernel knows them now; those of a socket that is not bound are zero.
  [[nodiscard]] ip_endpoint local_endpoint() const noexcept;
  /// What it was last connected to, also if the peer has gone; zero if it was not, or after disconnect().
  [[nodiscard]] const ip_endpoint& remote_endpoint() const noexcept { return remote_; }
  /// The descriptor, for options that this class does not set; -1 if it is closed.
  [[nodiscard]] int native_handle() const noexcept { return descriptor_.native_handle(); }

  /// Port 0: a free one. A TCP port can be bound again while connections of an earlier server linger
  /// (SO_REUSEADDR).
  void bind(const ip_endpoint& local);
  /// Lets others connect; so many wait to be accepted at most. The system may have a lower limit.
  void listen(std::uint32_t backlog);
  void listen();

  // The operations require that the socket is open, and that it is not moved until they have ended.

  /// Awaitable of nothing. A UDP socket then sends to, and receives from, `remote` only.
  socket_connect_operation connect(const ip_endpoint& remote, stop_token token = {}) noexcept;
  /// Awaitable of the next connection, a socket. Without a free descriptor: std::errc::too_many_files_open, and
  /// the connection goes on waiting.
  socket_accept_new_operation accept(stop_token token = {}) noexcept;
  /// Awaitable of nothing: `accepted` becomes the next connection, on its own io_service. What it was before is
  /// closed. Requires: `accepted` is not moved meanwhile.
  socket_accept_operation accept(socket& accepted, stop_token token = {}) noexcept;
  /// Awaitable of nothing. TCP: sends what is queued and the end of the stream, then waits until the peer has
  /// closed its side too, and drops what still comes. UDP: undoes connect(). Requires: nobody receives meanwhile.
  task<> disconnect(stop_token token = {});

  /// Awaitable of the number of bytes sent: TCP may take fewer than `size`, UDP sends one datagram.
  socket_send_operation send(const void* buffer, std::size_t size, stop_token token = {}) noexcept;
  socket_send_operation send(std::span<const std::byte> bytes, stop_token token = {}) noexcept {
    return send(bytes.data(), bytes.size(), std::move(token));
  }
  socket_send_operation send(std::string_view text, stop_token token = {}) noexcept {
    return send(text.data(), text.size(), std::move(token));
  }
  /// Awaitable of the number of bytes received. TCP: whatever has come, at least one byte; 0 at the end of the
  /// stream. UDP: one datagram, that may be empty; one that is longer than `size` is dropped with
  /// std::errc::message_size. Requires, for TCP: size != 0.
  socket_recv_operation recv(void* buffer, std::size_t size, stop_token token = {}) noexcept;
  socket_recv_operation recv(std::span<std::byte> to, stop_token token = {}) noexcept {
    return recv(to.data(), to.size(), std::move(token));
  }
  /// As send() and recv(): a TCP connection is a byte_stream.
  socket_send_operation write_some(std::span<const std::byte> bytes, stop_token token = {}) noexcept {
    return send(bytes, std::move(token));
  }
  socket_recv_operation read_some(std::span<std::byte> to, stop_token token = {}) noexcept {
    return recv(to, std::move(token));
  }
  /// As send(), to `destination`.
  socket_send_to_operation send_to(const ip_endpoint& destination, const void* buffer, std::size_t size,
                                   stop_token token = {}) noexcept;
  /// As recv(), a tuple with the sender's endpoint.
  socket_recv_from_operation recv_from(void* buffer, std::size_t size, stop_token token = {}) noexcept;

  // Whole transfers, of a TCP stream. They are tasks that go on with send() or recv() until all is done. Cancelled, or
  // ended by an error, part of it may be done: `*sent` or `*received`, if given, says how many bytes, and called again
  // with it they go on from there. Requires: no other operation of the same direction goes on meanwhile.

  /// Awaitable of nothing: all `size` bytes are sent.
  task<> send_all(const void* buffer, std::size_t size, stop_token token = {}, std::size_t* sent = nullptr);
  CORACLE_CORO_WRAPPER()
  task<> send_all(std::span<const std::byte> bytes, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all(bytes.data(), bytes.size(), std::move(token), sent);
  }
  CORACLE_CORO_WRAPPER()
  task<> send_all(std::string_view text, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all(text.data(), text.size(), std::move(token), sent);
  }
  /// Awaitable of `size`: so many bytes are received; or of 0, where the stream had ended before the first of them. One
  /// that ends between is ENODATA.
  task<std::size_t> recv_exactly(void* buffer, std::size_t size, stop_token token = {},
                                 std::size_t* received = nullptr);
  /// Awaitable of the number of bytes of `received` up to and with the first `delimiter`. What comes is appended, and what
  /// follows the delimiter stays for the next call; so erase what has been read.
  ///
  ///     while (std::size_t size = co_await client.recv_until(text, "\n", 1024)) {
  ///       std::string line = text.substr(0, size);
  ///       text.erase(0, size);
  ///     }
  ///
  /// 0: the stream has ended without one. Without one in the first `most` bytes: std::errc::message_size. Cancelled or
  /// not, all that has come is in `received`. Takes linear time, whatever the delimiter is and however the bytes come in;
  /// a delimiter of more than 8 bytes takes an allocation. Requires: `received` is left alone meanwhile, `delimiter` not
  /// empty.
  task<std::size_t> recv_until(std::string& received, std::string_view delimiter, std::size_t most,
                               stop_token token = {});

  /// Tells the peer that no more will be sent. What is queued is still delivered.
  void close_send();
  /// Receives no more: recv() gives 0 once what has come is read, also one that waits.
  void close_recv();

 protected:
  /// Another socket, with a descriptor of its own, for the same connection or port; closed if this one is. The connection
  /// ends when both are closed. Which of them gets what comes, if both wait, is open. Throws std::system_error: not of a
  /// simulated host.
  [[nodiscard]] socket duplicate() const;

 private:
  friend socket_connect_operation;
  friend socket_accept_new_operation;
  friend socket_accept_operation;
  friend socket_recv_from_operation;

  socket(coracle::detail::io_descriptor&& descriptor, const ip_endpoint& remote, bool is_stream) noexcept
      : descriptor_(std::move(descriptor)), remote_(remote), is_stream_(is_stream) {}
  static socket create(io_service& service, const ip_endpoint& unspecified, bool is_stream);
  int receive_flags() const noexcept;

  // What the tasks below leave to the library. They are here themselves, and so compiled by who awaits them: compilers do
  // not agree on how a function returns a task.
  void end_or_dissolve();
  void forget_remote() noexcept;
  /// Awaitable of the number of bytes that were received, and dropped.
  socket_recv_operation drop(const stop_token& token) noexcept;
  [[noreturn]] static void throw_cut_off();
  [[noreturn]] static void throw_no_delimiter();

  coracle::detail::io_descriptor descriptor_;
  ip_endpoint remote_;  // of the socket's family, also if it is zero
  bool is_stream_;
};

inline task<> socket::disconnect(stop_token token) {
  end_or_dissolve();
  for (bool more = is_stream_; more;) {
    const std::size_t dropped = co_await drop(token);
    more = dropped != 0;
  }
  forget_remote();
}

inline task<> socket::send_all(const void* buffer, std::size_t size, stop_token token, std::size_t* sent) {
  CORACLE_REQUIRE(is_stream_, "send_all() of a UDP socket, which sends one datagram: use send()");
  std::size_t its_own = 0;
  std::size_t& done = sent ? *sent : its_own;
  while (done != size) {
    const std::size_t more = co_await send(static_cast<const char*>(buffer) + done, size - done, token);
    done += more;
  }
}

inline task<std::size_t> socket::recv_exactly(void* buffer, std::size_t size, stop_token token,
                                              std::size_t* received) {
  CORACLE_REQUIRE(is_stream_, "recv_exactly() of a UDP socket, which receives one datagram: use recv()");
  std::size_t its_own = 0;
  std::size_t& done = received ? *received : its_own;
  while (done != size) {
    const std::size_t more = co_await recv(static_cast<char*>(buffer) + done, size - done, token);
    if (more == 0 && done == 0) co_return more;
    if (more == 0) throw_cut_off();
    done += more;
  }
  co_return size;
}

inline task<std::size_t> socket::recv_until(std::string& received, std::string_view delimiter,
                                            std::size_t most, stop_token token) {
  CORACLE_REQUIRE(is_stream_, "recv_until() of a UDP socket, which receives one datagram: use recv()");
  CORACLE_REQUIRE(!delimiter.empty(), "recv_until() needs a delimiter");
  constexpr std::size_t most_at_once = 4096;
  struct text {  // what has come; behind it is room
    std::string& all;
    std::size_t size = all.size();
    ~text() { all.resize(size); }
  };
  detail::delimiter_search<char> search{delimiter.data(), delimiter.size()};
  for (std::size_t searched = 0;;) {
    const std::size_t unsearched = (received.size() < most ? received.size() : most) - searched;
    const std::size_t found = search.find_end_in(received.data() + searched, unsearched);
    if (found != search.not_found) co_return searched + found;
    searched += unsearched;
    if (searched == most) throw_no_delimiter();
    text come{received};
    const std::size_t room = most - come.size;
    received.resize(come.size + (room < most_at_once ? room : most_at_once));
    const std::size_t more = co_await recv(received.data() + come.size, received.size() - come.size, token);
    if (more == 0) co_return more;
    come.size += more;
  }
}
}  // namespace coracle::net
