// coracle/net/send_file.hpp -- sends a file over a connection, without copying it through the program.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/io/detail/transfer_count.hpp>
#include <coracle/io/readable_file.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>

namespace coracle::net {
namespace detail {
/// Awaiter of the number of bytes sent: one sendfile(2).
class [[nodiscard("nothing is sent until this is awaited")]] send_file_operation
    : public coracle::detail::io_operation {
 public:
  template <class Socket>
  send_file_operation(Socket& to, const readable_file& from, std::uint64_t position, std::size_t bytes,
                      const stop_token& token) noexcept
      : io_operation(to.descriptor_, io_opcode::send_file, static_cast<void*>(nullptr), bytes, token) {
    flags = from.native_handle();
    offset = position;
  }
  std::size_t await_resume();
};

/// Has the system begin to read a part of a file into the page cache.
void read_ahead(const readable_file& file, std::uint64_t offset, std::size_t size) noexcept;
}  // namespace detail

/// Sends `size` bytes of a file from `offset` on, inside the kernel. Awaitable of the number of bytes sent:
/// fewer than `size` if the file ends.
///
///     co_await client.send_all(header);
///     co_await coracle::net::send_file(client, page, 0, page.size());
///
/// Order         as send_all(). Requires: no other operation that sends is pending, and nobody shortens the
///               file.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service, if it had to wait.
/// Cancellation  ends the wait immediately. `*sent`, if given, is the number of bytes sent, also after an
///               error; pass it again to continue from there. `token` replaces the inherited stop token.
/// Exceptions    std::system_error, operation_cancelled. A peer that has closed the connection is EPIPE or
///               ECONNRESET, and raises no SIGPIPE.
/// Threads       as the socket and the file. Requires: neither is closed or moved meanwhile.
/// Cost          a frame. For each MiB, one system call that makes sure that the file's data is in the page
///               cache, waiting for the device if it is not, and one or more that send it: the thread does
///               not wait for the device, unless the system discards the data in between. Requires: the file
///               was not opened with file_buffering_mode::unbuffered.
template <class Socket>
  requires std::same_as<Socket, socket> || std::same_as<Socket, unix_socket>
[[nodiscard("nothing is sent until this is awaited")]] task<std::uint64_t> send_file(
    Socket& to, const readable_file& from, std::uint64_t offset, std::uint64_t size, stop_token token = {},
    std::uint64_t* sent = nullptr) {
  constexpr std::uint64_t most_at_once = std::uint64_t{1} << 20;
  std::uint64_t local = 0;
  std::uint64_t& done = coracle::detail::transfer_count(sent, local, size);
  std::uint64_t cached = done;
  bool ended = false;
  while (!ended && done != size) {
    if (done == cached) {
      const std::size_t more = size - done < most_at_once ? size - done : most_at_once;
      cached += more;
      detail::read_ahead(from, offset + done, more);
      char last;
      static_cast<void>(co_await from.read(offset + cached - 1, &last, 1, token));
    }
    const std::size_t more =
        co_await detail::send_file_operation(to, from, offset + done, cached - done, token);
    done += more;
    ended = more == 0;
  }
  co_return done;
}
}  // namespace coracle::net
