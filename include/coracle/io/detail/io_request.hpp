// coracle/io/detail/io_request.hpp -- an I/O operation's request and result.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/builtin_atomic.hpp>
#include <coracle/base/intrusive_list.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <cstddef>
#include <cstdint>

namespace coracle::detail {
class io_backend;

/// How a request on a descriptor may wait.
enum class io_descriptor_kind : std::uint8_t {
  pollable,  ///< until the descriptor is ready: a socket, pipe, terminal, eventfd ...
  // For the device: a regular file, a block device or a directory. Only read_at and the opcodes after it.
  file,                ///< reads and writes go through the page cache
  write_through_file,  ///< every write waits for the device
  uncached_file        ///< every read and every write waits for the device
};

/// The backend's data about a descriptor. Its address does not change while the descriptor is attached.
struct io_record {
  io_backend* backend = nullptr;
  int fd = -1;
  io_descriptor_kind kind = io_descriptor_kind::pollable;
  std::size_t with_threads = 0;  ///< requests queued or running on file threads; belongs to their lock
};

/// An event that the loop of an io_service delivers: a request or a timer. It lives in the awaiter.
struct io_event : waiter {
  enum class state : std::uint8_t {
    idle,        ///< not submitted yet
    cancelled,   ///< stop was requested before its submission; for a timer: cancelled
    queued,      ///< waits, and can be removed
    running,     ///< a thread or the kernel carries it out, so it cannot be removed
    cancelling,  ///< running, and the kernel has been asked to cancel it
    finished     ///< has its result
  };
  // Which lock guards each field, by state. Q is the lock of the event's queue: of one direction of a
  // descriptor, of the file threads, or, for a timer, the io_service's lock. S is the io_service's lock. Q is
  // taken before S.
  //             progress   links                            result
  //   idle      Q          not accessed                     the awaiting coroutine, in submit()
  //   queued    Q          Q                                Q
  //   running   Q          Q                                not accessed; likewise cancelling
  //   finished  Q, to read S while it is listed, or the     not accessed until the coroutine resumes and
  //                        polling thread; then the thread  reads it without a lock
  //                        that removes and wakes it
  // An event becomes finished and is listed under one hold of Q: in the list of the io_service, for which S
  // is taken, or by a poll() in a list of the polling thread's, which delivers it or moves it to the other
  // list under S. So a thread that holds Q and finds it finished finds it in a list, or delivered. `listed`
  // belongs to S, or to the thread whose list it is.
  plain<plain<resumption*>*> link = nullptr;
  state progress = state::idle;
  enum class list : std::uint8_t {
    none,      ///< not finished yet, or delivered
    finished,  ///< in the list of finished events
    scheduled  ///< its coroutine gave way and is among the scheduled ones, or has already been resumed
  };
  list listed = list::none;

  /// What a stop request, before it cancels the event, leaves to be called before the event is delivered:
  /// io/detail/event_wait.hpp.
  using stopped = void(io_event& self) noexcept;
  void call_when_over(stopped* is_over) noexcept { is_over_.store_relaxed(is_over); /*E1*/ }
  /// Null if stop was not requested.
  [[nodiscard]] stopped* to_call() const noexcept { return is_over_.load_relaxed(); /*E2*/ }
  /// Makes it idle for another wait. Requires: not submitted, or delivered.
  void renew() noexcept {
    if (progress == state::idle) return;
    progress = state::idle;
    listed = list::none;
    call_when_over(nullptr);
  }

 private:
  //   [E1] store  relaxed  the request then takes Q, under which it cancels the event    pairs with E2
  //   [E2] load   relaxed  Q or S was taken since: if it was cancelled, it sees that     pairs with E1
  builtin_atomic<stopped*> is_over_;
};

/// The system call that a request makes.
enum class io_opcode : std::uint8_t {
  // Wait until the descriptor is readable:
  read,             ///< read(2) of a pipe, a terminal ...: non-blocking, or with `poll_first`; also of a file
  receive,          ///< recv(2)
  receive_from,     ///< recvfrom(2) into `address`
  accept,           ///< accept4(2) into `address`; the result is a non-blocking descriptor with close-on-exec
  receive_message,  ///< recvmsg(2); `address` is an io_message. Descriptors have close-on-exec
  receive_parts,    ///< recvmsg(2); `buffer` is an array of `size` mutable_buffers
  receive_batch,    ///< recvmmsg(2); `buffer` is an array of `size` mmsghdr; the result counts datagrams
  wait_readable,    ///< poll(2): the result is the events
  // Wait until the descriptor is writable:
  write,          ///< write(2), as read; may raise SIGPIPE unless `without_sigpipe`
  send,           ///< send(2); never raises SIGPIPE
  send_to,        ///< sendto(2) to `address`; never raises SIGPIPE
  send_message,   ///< sendmsg(2); `address` is an io_message; never raises SIGPIPE
  send_parts,     ///< sendmsg(2); `buffer` is an array of `size` const_buffers; never raises SIGPIPE
  send_batch,     ///< sendmmsg(2), as receive_batch; never raises SIGPIPE
  send_file,      ///< sendfile(2) of `size` bytes at `offset` of the file `flags`; never raises SIGPIPE
  connect,        ///< connect(2) to `address`
  wait_writable,  ///< poll(2): the result is the events
  // Files, which are always ready but may block:
  read_at,         ///< pread(2) at `offset`
  write_at,        ///< pwrite(2) at `offset`
  read_parts_at,   ///< preadv(2) at `offset`; `buffer` is an array of `size` mutable_buffers
  write_parts_at,  ///< pwritev(2) at `offset`; `buffer` is an array of `size` const_buffers
  sync,            ///< fsync(2)
  // Paths, which begin at the descriptor if they are relative: `buffer`, and a second one in `address`:
  open,         ///< openat(2) with `flags`; `size` is the mode of a new file
  status,       ///< statx(2) with `flags` for the fields in `size`; `address` is a struct statx
  rename,       ///< renameat2(2) with `flags`
  link,         ///< linkat(2) with `flags`
  symlink,      ///< symlinkat(2): `buffer` is the target
  make_folder,  ///< mkdirat(2); `size` is the mode
  remove        ///< unlinkat(2) with `flags`
};

/// Flag of read and write for a pollable descriptor in blocking mode: poll(2) precedes the call, so that it
/// does not block.
inline constexpr int poll_first = 1;
/// Flag of write: writing to a pipe without readers is EPIPE, without SIGPIPE.
inline constexpr int without_sigpipe = 2;

/// The number of parts that one system call takes (IOV_MAX).
inline constexpr std::size_t most_parts = 1024;

/// The most datagrams that one send_message is cut into: the smallest UDP_MAX_SEGMENTS of any Linux.
inline constexpr std::size_t most_segments = 64;

/// What accompanies the bytes of a message: `address` of receive_message and send_message.
struct io_message {
  void* name = nullptr;                ///< a sockaddr; null: none is passed, or stored
  std::uint32_t name_size = 0;         ///< in: the capacity, or the length; out: the length received
  const int* to_pass = nullptr;        ///< send_message: `count` descriptors
  owned_descriptor* passed = nullptr;  ///< receive_message: room for `count` descriptors
  std::size_t count = 0;               ///< out: the number received
  bool is_cut = false;                 ///< out: there were more descriptors, which have been closed
  /// UDP: the size of the datagrams that the bytes are cut into, or were joined from; 0: they are one
  /// datagram. receive_message, in: not 0 if the size is to be reported.
  std::size_t segment_size = 0;
};

/// One system call. It lives in the awaiter, in the coroutine's frame, and its address does not change from
/// its submission to its delivery.
struct io_request : io_event {
  io_request(io_record* descriptor, io_opcode code, void* data, std::size_t bytes) noexcept
      : record(descriptor), buffer(data), size(bytes), opcode(code) {}

  io_record* record;
  void* buffer;  ///< written only by opcodes that read
  std::size_t size;
  std::uint64_t offset = 0;  ///< in bytes; see io_opcode
  /// A sockaddr, or null if accept or receive_from need not store one; for paths see io_opcode.
  void* address = nullptr;
  std::uint32_t address_size = 0;  ///< in: the capacity, or the length; out: the length received
  /// MSG_...: receive and send, in all forms but batches. poll_first: read, write. For others see io_opcode.
  int flags = 0;
  io_opcode opcode;
  bool begun = false;        ///< connect: the attempt is in progress
  bool lost = false;         ///< not carried out, because another branch of `one_of` was
  choice* one_of = nullptr;  ///< the when_any() that this is a branch of, or null
  std::int64_t result = -1;  ///< what the system call returned, or -errno
};
}  // namespace coracle::detail
