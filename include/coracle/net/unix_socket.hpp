// coracle/net/unix_socket.hpp -- sockets between processes of one machine, which can pass descriptors.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/net/detail/socket_operations.hpp>
#include <coracle/net/detail/unix_operations.hpp>
#include <span>
#include <string>
#include <string_view>

namespace coracle {
class io_service;
}  // namespace coracle

namespace coracle::net {
enum class unix_kind : unsigned char {
  stream,    ///< a connection of bytes, as TCP
  datagram,  ///< messages without a connection: each arrives whole, in order, and none is lost
  seqpacket  ///< a connection of messages
};

struct unix_pair;

/// The process that has connected or has created the pair, as of that moment.
struct peer_credentials {
  int process;  ///< its id; it may have ended since, and the id may have been reused
  unsigned user, group;
};

/// A Unix socket. Move-only.
///
///     unix_socket listener = unix_socket::create(io, unix_kind::stream);
///     listener.bind(unix_address{"/run/app/control"});
///     listener.listen();
///     co_await coracle::net::serve(listener, handler);
///
/// A stream is a byte_stream: buffered_reader and buffered_writer read and write it.
///
/// Paths         bind() creates a file, which remains when the socket is closed: remove it then. If a server
///               was killed and left its file behind, bind() fails with std::errc::address_in_use, as for one
///               in use. To take over in either case, without a moment in which clients find no server, bind
///               and listen at a temporary path in its directory and rename() that over it. Abstract names
///               leave nothing behind.
/// Order         as net::socket: those that wait to receive (or to accept), and those that wait to send, are
///               each served in the order in which they were awaited.
/// Resumes on    the executor on which it was awaited; outside any executor, the thread that runs the
///               io_service if it had to wait.
/// Cancellation  every operation takes a stop token, and otherwise obeys the inherited one. It ends the wait
///               at once; nothing was then sent, received or accepted, and no descriptor passed.
/// Exceptions    std::system_error, operation_cancelled. Sending to a closed peer: EPIPE or ECONNRESET, no
///               SIGPIPE; for a datagram, ECONNREFUSED or ENOTCONN.
/// Threads       operations from any number of threads at once. Closing, moving, bind(), connect(): no other
///               use of the socket meanwhile. The io_service must outlive the socket.
/// Cost          24 bytes; an operation allocates nothing, except that a task has a frame.
class unix_socket {
 public:
  /// Requires: `service` is not simulated.
  [[nodiscard]] static unix_socket create(io_service& service, unix_kind kind);
  /// As net::socket::adopt(), for a Unix socket.
  [[nodiscard]] static unix_socket adopt(io_service& service, owned_descriptor opened);

  unix_socket(unix_socket&& other) noexcept = default;
  unix_socket& operator=(unix_socket&& other) noexcept = default;
  /// As close().
  ~unix_socket() = default;
  /// Requires: no operation on it is pending.
  void close() noexcept { descriptor_.close(); }
  /// Returns -1 if it is closed.
  [[nodiscard]] int native_handle() const noexcept { return descriptor_.native_handle(); }
  /// The io_service that it is on. Requires: it is open.
  [[nodiscard]] io_service& service() const noexcept {
    CORACLE_REQUIRE(
        descriptor_.is_open(),
        "service() of a unix_socket that is closed or moved from: ask an open one, or keep a reference "
        "to the io_service");
    return *descriptor_.service();
  }
  [[nodiscard]] unix_kind kind() const noexcept { return kind_; }
  /// Returns the address that it is bound to; unnamed if it is not bound.
  [[nodiscard]] unix_address local_address() const noexcept;
  /// For a connected stream or seqpacket, or a pair. Throws std::system_error.
  [[nodiscard]] peer_credentials peer() const;

  void bind(const unix_address& local);
  /// Starts to accept connections; at most `backlog` may be pending. The system may have a lower limit.
  void listen(unsigned backlog = 4096);

  // The operations require that the socket is open, and that it is not moved until they have ended.

  /// Awaitable of nothing. Without a server: std::errc::connection_refused, or no_such_file_or_directory. If
  /// the server's backlog is full: std::errc::resource_unavailable_try_again, since the system does not
  /// report when there is room; net::connect() retries. A datagram socket then sends to, and receives from,
  /// `remote` only.
  unix_connect_operation connect(const unix_address& remote, stop_token token = {}) noexcept {
    return {descriptor_, remote, std::move(token)};
  }
  /// Awaitable of the next connection, a unix_socket. Without a free descriptor:
  /// std::errc::too_many_files_open, and the connection stays pending.
  unix_accept_operation accept(stop_token token = {}) noexcept {
    return {*this, descriptor_.service(), std::move(token)};
  }
  template <class Rep, class Period>
  auto accept(std::chrono::duration<Rep, Period>) {
    detail::no_time_limit<Rep>();
    return accept();
  }
  /// As accept(), but the new socket is on `service`, whose thread then carries out its operations.
  unix_accept_operation accept_on(io_service& service, stop_token token = {}) noexcept {
    return {*this, &service, std::move(token)};
  }

  /// Awaitable of the number of bytes sent: a stream may take fewer; the other kinds send one message.
  socket_send_operation send(const void* buffer, byte_count size, stop_token token = {}) noexcept {
    return {descriptor_, buffer, size, std::move(token)};
  }
  socket_send_operation send(const_buffer bytes, stop_token token = {}) noexcept {
    return send(bytes.data(), bytes.size(), std::move(token));
  }
  /// The same from several pieces of memory, one behind the other, with one system call. With more than 1024
  /// pieces, the error is std::errc::message_size. Requires: the array `from` outlives the operation.
  socket_send_operation send(const_buffers from, stop_token token = {}) noexcept {
    return {descriptor_, from, std::move(token)};
  }
  /// Awaitable of the number of bytes received. A stream: the bytes available, at least one; 0 at its end.
  /// The other kinds: one message, which may be empty; a message longer than `to` is dropped with
  /// std::errc::message_size. A seqpacket also returns 0 at its end. Requires, for a stream: `to` is not
  /// empty.
  socket_recv_operation recv(void* buffer, byte_count size, stop_token token = {}) noexcept {
    CORACLE_CHECK(size != 0 || kind_ != unix_kind::stream, detail::receives_nothing);
    return {descriptor_, buffer, size, receive_flags(), std::move(token)};
  }
  socket_recv_operation recv(mutable_buffer to, stop_token token = {}) noexcept {
    return recv(to.data(), to.size(), std::move(token));
  }
  /// The same into several pieces of memory, each of which is filled before the next one is begun. With more
  /// than 1024 pieces, the error is std::errc::message_size. Requires: the array `to` outlives the operation;
  /// for a stream, not all pieces are empty.
  socket_recv_operation recv(mutable_buffers to, stop_token token = {}) noexcept {
    CORACLE_CHECK(detail::has_room(to) || kind_ != unix_kind::stream, detail::receives_nothing);
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
  socket_send_operation write_some(const_buffer bytes, stop_token token = {}) noexcept {
    return send(bytes.data(), bytes.size(), std::move(token));
  }
  socket_recv_operation read_some(mutable_buffer to, stop_token token = {}) noexcept {
    return recv(to, std::move(token));
  }
  /// Awaitable of nothing: sends all bytes. If it is cancelled or fails, `*sent`, if passed, is the number
  /// sent; a further call with the same `sent` continues from there. Requires: a stream.
  CORACLE_CORO_WRAPPER()
  task<> send_all(const_buffer bytes, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all_body(bytes, std::move(token), sent);
  }
  CORACLE_CORO_WRAPPER()
  task<> send_all(const void* buffer, byte_count size, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_all_body({buffer, size}, std::move(token), sent);
  }
  /// The same from several pieces of memory, of any number. Requires: the array `parts` outlives the task.
  CORACLE_CORO_WRAPPER()
  task<> send_all(const_buffers parts, stop_token token = {}, std::size_t* sent = nullptr) {
    return send_parts_body(parts, std::move(token), sent);
  }
  /// Awaitable of `size` once that many bytes have been received, or of 0 if the stream ended before the
  /// first one. If the stream ends in between, the error is ENODATA. `*received` as `*sent` of send_all().
  /// Requires: a stream.
  CORACLE_CORO_WRAPPER()
  task<std::size_t> recv_exactly(void* buffer, byte_count size, stop_token token = {},
                                 std::size_t* received = nullptr) {
    return recv_exactly_body({buffer, size}, std::move(token), received);
  }
  CORACLE_CORO_WRAPPER()
  task<std::size_t> recv_exactly(mutable_buffer to, stop_token token = {}, std::size_t* received = nullptr) {
    return recv_exactly_body(to, std::move(token), received);
  }
  /// As net::socket::recv_until(): appends to `received`, and gives the number of its bytes up to and
  /// including the first `delimiter`. Requires: a stream.
  CORACLE_CORO_WRAPPER()
  task<std::size_t> recv_until(std::string& received, std::string_view delimiter, std::size_t limit,
                               stop_token token = {}) {
    return recv_until_body(received, delimiter, limit, std::move(token));
  }

  /// As send(), of text or bytes, with copies of `descriptors`, at most 253, which the caller still owns. A
  /// stream that takes only part of `bytes` has taken all descriptors. Requires: `descriptors` outlive the
  /// operation; for a stream, `bytes` is not empty.
  unix_send_message_operation send_message(const_buffer bytes, std::span<const int> descriptors,
                                           stop_token token = {}) noexcept {
    return {descriptor_, {}, bytes, descriptors, std::move(token)};
  }
  /// As above, for a datagram, to `destination`. If that has no room it does not wait, but fails with
  /// std::errc::resource_unavailable_try_again. connect() and send() do wait.
  unix_send_message_operation send_to(const unix_address& destination, const_buffer bytes,
                                      std::span<const int> descriptors = {}, stop_token token = {}) noexcept {
    return {descriptor_, destination, bytes, descriptors, std::move(token)};
  }
  /// As recv(), but returns a received_message: the descriptors passed with it are stored in `passed`, closed
  /// on exec. If there are more than `passed` or the process has room for, all are closed, and it fails with
  /// std::errc::message_size; the bytes are in `to`. recv() closes the descriptors that come with its data.
  /// Requires: `passed` outlives the operation, and has at most 253 elements; for a stream, `to` is not
  /// empty.
  unix_recv_message_operation recv_message(mutable_buffer to, std::span<owned_descriptor> passed = {},
                                           stop_token token = {}) noexcept {
    CORACLE_CHECK(
        to.size() != 0 || kind_ != unix_kind::stream,
        "recv_message() into 0 bytes, whose result would look like the end of the stream: pass a buffer "
        "that has room");
    return {descriptor_, to, passed, receive_flags(), std::move(token)};
  }

  /// Tells the peer that no more will be sent. A send() that waits for room may go on waiting, also after the
  /// peer's close_recv(), since the system does not report either: request its stop.
  void close_send();
  /// Stops receiving: recv() returns 0 once the data already received is read, even a recv() that is waiting.
  /// A listener refuses further connections, for good: once those that wait have been accepted, accept(),
  /// including one that is waiting, fails with std::errc::invalid_argument.
  void close_recv();

 private:
  friend detail::send_file_operation;
  friend unix_accept_operation;
  friend unix_pair make_unix_pair(io_service& service, unix_kind kind);

  unix_socket(coracle::detail::io_descriptor&& descriptor, unix_kind kind) noexcept
      : descriptor_(std::move(descriptor)), kind_(kind) {}
  int receive_flags() const noexcept;
  coracle::detail::library_task<> send_all_body(const_buffer bytes, stop_token token, std::size_t* sent);
  coracle::detail::library_task<> send_parts_body(const_buffers parts, stop_token token, std::size_t* sent);
  coracle::detail::library_task<std::size_t> recv_exactly_body(mutable_buffer to, stop_token token,
                                                               std::size_t* received);
  coracle::detail::library_task<std::size_t> recv_until_body(std::string& received,
                                                             std::string_view delimiter, std::size_t limit,
                                                             stop_token token);

  coracle::detail::io_descriptor descriptor_;
  unix_kind kind_;
};

/// Two connected sockets.
struct unix_pair {
  unix_socket first, second;
};
/// Throws std::system_error, std::bad_alloc. Requires: `service` is not simulated.
[[nodiscard]] unix_pair make_unix_pair(io_service& service, unix_kind kind = unix_kind::stream);
}  // namespace coracle::net
