// coracle/io/detail/io_request.hpp -- an I/O operation's request and result.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/intrusive_list.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
class io_backend;

/// How the system lets one wait for a descriptor.
enum class io_descriptor_kind : std::uint8_t {
  pollable,  ///< socket, pipe, terminal, eventfd ...
  // Regular file or block device: read_at, write_at and sync only.
  file,                ///< the page cache takes what is written, and has what is read again
  write_through_file,  ///< each write waits for the device
  uncached_file        ///< each read does, too
};

/// A descriptor as the backend knows it; at one address while it is attached.
struct io_record {
  io_backend* backend = nullptr;
  int fd = -1;
  io_descriptor_kind kind = io_descriptor_kind::pollable;
  std::size_t with_threads = 0;  ///< requests that file threads have; belongs to their lock
};

/// What the loop of an io_service delivers: a request or a timer, inside the awaiter.
struct io_event : waiter {
  enum class state : std::uint8_t {
    idle,        ///< not submitted yet
    cancelled,   ///< not submitted yet, and stop was requested; a timer: stop was requested, and it is over
    queued,      ///< waits; may be taken out
    running,     ///< a thread or the kernel carries it out; cannot be taken out
    cancelling,  ///< running, and the kernel has been asked to cancel it
    finished     ///< has its result
  };
  // Who may touch what. Q is the lock of the queue that the event is for: of one direction of a descriptor,
  // of the file threads, or for a timer the io_service's own. S is the io_service's lock. Where both are
  // taken, Q is first.
  //             progress   links                          result
  //   idle      Q          nobody                         the awaiting coroutine, in submit()
  //   queued    Q          Q                              Q
  //   running   Q          Q                              nobody; as cancelling
  //   finished  Q, to read S while it is listed; then     nobody until the coroutine runs again, which
  //                        whoever takes it out, to wake  then reads it without a lock
  // It becomes finished and is listed under one hold of Q, so that whoever finds it finished under Q finds it
  // in the list, or delivered. `listed` belongs to S.
  plain<plain<resumption*>*> link = nullptr;
  state progress = state::idle;
  enum class list : std::uint8_t {
    none,      ///< not to be delivered yet, or delivered
    finished,  ///< to be delivered
    scheduled  ///< gave way: its coroutine stands among those that are scheduled; also after it was resumed
  };
  list listed = list::none;
};

/// Which system call a request is.
enum class io_opcode : std::uint8_t {
  // Wait until the descriptor can be read:
  read,  ///< read(2) of a pipe, a terminal, an eventfd ..., which is non-blocking or `asks_first`; of a file, here and now
  receive,          ///< recv(2)
  receive_from,     ///< recvfrom(2) into `address`
  accept,           ///< accept4(2) into `address`; the result is a non-blocking descriptor with close-on-exec
  receive_message,  ///< recvmsg(2); `address` is an io_message. Descriptors have close-on-exec
  wait_readable,    ///< poll(2): the result is the events
  // Wait until it can be written:
  write,          ///< write(2), as read; raises SIGPIPE as usual
  send,           ///< send(2); never raises SIGPIPE
  send_to,        ///< sendto(2) to `address`; never raises SIGPIPE
  send_message,   ///< sendmsg(2); `address` is an io_message; never raises SIGPIPE
  connect,        ///< connect(2) to `address`
  wait_writable,  ///< poll(2): the result is the events
  // Files, which cannot be waited for:
  read_at,   ///< pread(2) at `offset`
  write_at,  ///< pwrite(2) at `offset`
  sync       ///< fsync(2)
};

/// Flag of read and write of a pollable descriptor that blocks, since others use it, too: it is asked first whether it would.
inline constexpr int asks_first = 1;
/// Flag of write: a pipe that nobody reads is EPIPE, and no SIGPIPE.
inline constexpr int without_sigpipe = 2;

/// What goes with the bytes of a message: `address` of receive_message and send_message.
struct io_message {
  void* name = nullptr;                ///< a sockaddr; null: none is given, or asked for
  std::uint32_t name_size = 0;         ///< in: the room, or the length; out: the length received
  const int* to_pass = nullptr;        ///< send_message: `count` descriptors
  owned_descriptor* passed = nullptr;  ///< receive_message: room for `count` descriptors
  std::size_t count = 0;               ///< out: those that were received
  bool is_cut = false;                 ///< out: there were more descriptors, which are closed
};

/// One system call. It lives in the awaiter, in the coroutine's frame, at one address from the moment it is
/// submitted until it has been delivered.
struct io_request : io_event {
  io_request(io_record* descriptor, io_opcode code, void* data, std::size_t bytes) noexcept
      : record(descriptor), buffer(data), size(bytes), opcode(code) {}

  io_record* record;
  void* buffer;  ///< written through only by those opcodes that read
  std::size_t size;
  std::uint64_t offset = 0;        ///< in bytes: read_at, write_at
  void* address = nullptr;         ///< a sockaddr; null: accept and receive_from do not ask for one
  std::uint32_t address_size = 0;  ///< in: the room, or the length; out: the length received
  int flags = 0;                   ///< MSG_...: receive, send, receive_from, send_to. asks_first: read, write
  io_opcode opcode;
  bool begun = false;        ///< connect: the system is at it
  bool lost = false;         ///< another branch of `one_of` was carried out, so this was not
  choice* one_of = nullptr;  ///< of a when_any(); null: it is no branch of one
  std::int64_t result = -1;  ///< what the system call returned, or -errno
};
}  // namespace coracle::detail
