// SPDX-License-Identifier: MIT
#include "ring_backend.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "io_loop.hpp"
#include "pending_requests.hpp"
#include "system_call.hpp"

namespace coracle::detail {
namespace {
// The user_data of an entry is one of these, or the address of its request.
constexpr std::uint64_t ignored = 0, event_fired = 1, timer_fired = 2;
/// As an offset, selects the file's own position, as read(2) and write(2) do.
constexpr std::uint64_t current_file_position = ~std::uint64_t{0};
/// The kernel's limit for one read or write, in bytes (MAX_RW_COUNT).
constexpr std::size_t max_transfer_size = 0x7ffff000;

std::uint64_t user_data_of(const io_request& request) noexcept {
  return reinterpret_cast<std::uintptr_t>(&request);
}

/// Returns true if the ring only waits for the descriptor, and try_now() makes the system call.
bool waits_until_ready(const io_request& request) noexcept {
  if (request.one_of) return true;
  switch (request.opcode) {
    case io_opcode::receive:
    case io_opcode::send:
    case io_opcode::accept:
      return false;
    case io_opcode::read:
    case io_opcode::write:
      return request.record->kind == io_descriptor_kind::pollable;
    default:
      return request.opcode < io_opcode::read_at;
  }
}

bool needs_offset(const io_request& request) noexcept {
  return request.opcode >= io_opcode::read_at && request.opcode <= io_opcode::write_parts_at;
}

std::uint64_t address_of(const void* memory) noexcept { return reinterpret_cast<std::uintptr_t>(memory); }

void prepare_transfer(io_uring_sqe& entry, std::uint8_t opcode, const io_request& request) noexcept {
  entry.opcode = opcode;
  entry.fd = request.record->fd;
  entry.addr = address_of(request.buffer);
  entry.len = static_cast<std::uint32_t>(std::min(request.size, max_transfer_size));
  entry.off = request.offset;
}
void prepare_poll(io_uring_sqe& entry, int fd, std::uint32_t events) noexcept {
  entry.opcode = IORING_OP_POLL_ADD;
  entry.fd = fd;
  entry.poll32_events = events;
}
/// Of a path. The calls have their arguments in the same places of an entry.
void prepare_path(io_uring_sqe& entry, std::uint8_t opcode, const io_request& request) noexcept {
  entry.opcode = opcode;
  entry.fd = request.record->fd;
  entry.addr = address_of(request.buffer);
  entry.addr2 = address_of(request.address);
  entry.len = static_cast<std::uint32_t>(request.size);
  entry.open_flags = static_cast<std::uint32_t>(request.flags);
}
void prepare_two_paths(io_uring_sqe& entry, std::uint8_t opcode, const io_request& request) noexcept {
  prepare_path(entry, opcode, request);
  entry.len = static_cast<std::uint32_t>(entry.fd);  // the directory in which the second path begins
}
void prepare_entry(io_uring_sqe& entry, io_request& request) noexcept {
  entry.user_data = user_data_of(request);
  if (waits_until_ready(request)) {
    return prepare_poll(entry, request.record->fd, waits_to_read(request.opcode) ? POLLIN : POLLOUT);
  }
  switch (request.opcode) {
    case io_opcode::receive:
      prepare_transfer(entry, IORING_OP_RECV, request);
      entry.msg_flags = static_cast<std::uint32_t>(request.flags);
      break;
    case io_opcode::send:
      prepare_transfer(entry, IORING_OP_SEND, request);
      entry.msg_flags = static_cast<std::uint32_t>(request.flags | MSG_NOSIGNAL);
      break;
    case io_opcode::accept:
      entry.opcode = IORING_OP_ACCEPT;
      entry.fd = request.record->fd;
      entry.addr = address_of(request.address);
      entry.addr2 = request.address ? address_of(&request.address_size) : 0;
      entry.accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
      break;
    case io_opcode::read_at:
      prepare_transfer(entry, IORING_OP_READ, request);
      break;
    case io_opcode::write_at:
      prepare_transfer(entry, IORING_OP_WRITE, request);
      break;
    case io_opcode::read_parts_at:
      prepare_transfer(entry, IORING_OP_READV, request);
      break;
    case io_opcode::write_parts_at:
      prepare_transfer(entry, IORING_OP_WRITEV, request);
      break;
    case io_opcode::read:
      prepare_transfer(entry, IORING_OP_READ, request);
      entry.off = current_file_position;
      break;
    case io_opcode::write:
      prepare_transfer(entry, IORING_OP_WRITE, request);
      entry.off = current_file_position;
      break;
    case io_opcode::open:
      prepare_path(entry, IORING_OP_OPENAT, request);
      break;
    case io_opcode::status:
      prepare_path(entry, IORING_OP_STATX, request);
      break;
    case io_opcode::rename:
      prepare_two_paths(entry, IORING_OP_RENAMEAT, request);
      break;
    case io_opcode::link:
      prepare_two_paths(entry, IORING_OP_LINKAT, request);
      break;
    case io_opcode::symlink:
      prepare_path(entry, IORING_OP_SYMLINKAT, request);
      break;
    case io_opcode::make_folder:
      prepare_path(entry, IORING_OP_MKDIRAT, request);
      break;
    case io_opcode::remove:
      prepare_path(entry, IORING_OP_UNLINKAT, request);
      break;
    default:
      entry.opcode = IORING_OP_FSYNC;
      entry.fd = request.record->fd;
  }
}
}  // namespace

ring_backend::poller::poller() {
  const use first{uring.bias()};
  watch_event(first);
  watch_timer(first);
}
void ring_backend::poller::watch_event(const use& by) noexcept {
  uring.push(by, [this](io_uring_sqe& entry) {
    prepare_poll(entry, sources.event_fd(), POLLIN);
    entry.len = IORING_POLL_ADD_MULTI;
    entry.user_data = event_fired;
  });
}
void ring_backend::poller::watch_timer(const use& by) noexcept {
  uring.push(by, [this](io_uring_sqe& entry) {
    prepare_poll(entry, sources.timer_fd(), POLLIN);
    entry.len = IORING_POLL_ADD_MULTI;
    entry.user_data = timer_fired;
  });
}

ring_backend::ring_backend(io_loop& loop, std::string_view reason) noexcept
    : io_backend(loop.system(), {"io_uring", reason}), loop_(loop), page_cache_(loop.system()) {}

lock_bias* ring_backend::bias() noexcept {
  poller* const active = poller_.get();
  return active ? &active->uring.bias() : nullptr;
}

io_record& ring_backend::attach(int fd, io_descriptor_kind kind) {
  poller_.make();
  record& descriptor = records_.take();
  descriptor.backend = this;
  descriptor.kind = kind;
  descriptor.fd = fd;
  descriptor.is_known_to_seek = false;
  loop_.count_watched(true);
  return descriptor;
}

void ring_backend::detach(io_record& attached) noexcept {
  auto& descriptor = static_cast<record&>(attached);
  {
    const use by{*bias()};
    for (direction* each : {&descriptor.reading, &descriptor.writing}) {
      const biased_lock lock{each->mutex, by};
      CORACLE_REQUIRE(each->queue.empty() && descriptor.in_kernel == 0, closed_too_early);
    }
  }
  loop_.count_watched(false);
  if (descriptor.fd >= 0) ::close(descriptor.fd);  // AT_FDCWD is not a descriptor
  records_.give_back(descriptor);
}

void ring_backend::add_pending(io_service_metrics& to) {
  lock_bias* const its = bias();
  if (!its) return;
  constexpr bool takes_long = true;
  const use by{*its, takes_long};
  for (record* const each : records_.all()) {
    add_requests(each->reading.queue, each->reading.mutex, to);
    add_requests(each->writing.queue, each->writing.mutex, to);
    const small_mutex_lock lock{each->reading.mutex};
    to.file_operations += each->in_kernel;
  }
}

ring_backend::direction& ring_backend::direction_of(const io_request& request) noexcept {
  record& descriptor = record_of(request);
  return is_file(request) || waits_to_read(request.opcode) ? descriptor.reading : descriptor.writing;
}

bool ring_backend::submit(io_request& request) noexcept {
  direction& side = direction_of(request);
  const bool tries_call = is_file(request) || tries_call_first(request);
  const use by{*bias(), tries_call};
  const biased_lock lock{side.mutex, by};
  if (request.progress == io_event::state::cancelled) {
    request.result = -ECANCELED;
    return false;
  }
  return is_file(request) ? submit_file(by, request) : submit_polled(by, request, side.queue, tries_call);
}

bool ring_backend::submit_polled(const use& by, io_request& request, intrusive_list<io_event>& queue,
                                 bool tries_call) noexcept {
  if (queue.empty() && tries_call) {
    request.result = try_now(request);
    if (request.result != not_ready) {
      request.progress = io_event::state::finished;
      return false;
    }
  }
  const bool is_first = queue.empty();
  request.progress = io_event::state::queued;
  queue.push(request);
  if (is_first) begin(by, request);
  return true;
}

bool ring_backend::submit_file(const use& by, io_request& request) noexcept {
  request.result = page_cache_.attempt(request, record_of(request).kind);
  const bool is_beyond = request.offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (request.result == not_ready && is_beyond)
    request.result = -EINVAL;  // as pread(2) does; to io_uring, some such offsets mean current_file_position
  if (request.result == not_ready && needs_offset(request) && !has_offsets(record_of(request)))
    request.result = -ESPIPE;  // as pread(2) does; io_uring would ignore the offset
  if (request.result != not_ready) {
    request.progress = io_event::state::finished;
    return false;
  }
  ++record_of(request).in_kernel;
  begin(by, request);
  return true;
}

/// Returns false for a FIFO or a terminal.
bool ring_backend::has_offsets(record& descriptor) noexcept {
  descriptor.is_known_to_seek =
      descriptor.is_known_to_seek || ::lseek(descriptor.fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE;
  return descriptor.is_known_to_seek;
}

/// For a single request, a system call costs less than a round trip through the ring; for several together,
/// more. A peer often waits for the first send after a poll, so that does not wait for others.
bool ring_backend::tries_call_first(const io_request& request) noexcept {
  if (waits_until_ready(request) || !loop_.runs_here()) return true;
  if (request.opcode == io_opcode::send && loop_.sends_first()) return true;
  return poller_.get()->uring.is_empty() && loop_.has_nothing_ready();
}

/// Pushes the request to the kernel.
void ring_backend::begin(const use& by, io_request& request) noexcept {
  request.progress = io_event::state::running;
  poller_.get()->uring.push(by, [&request](io_uring_sqe& entry) { prepare_entry(entry, request); });
  flush_soon(by);
}
/// Has a thread submit what was pushed, unless this thread runs the loop, and so does it.
void ring_backend::flush_soon(const use& by) noexcept {
  if (!by.is_alone() && !loop_.runs_here()) loop_.flush_soon();
}

void ring_backend::deliver(io_request& request) noexcept {
  const use by{*bias()};
  const biased_lock lock{direction_of(request).mutex, by};
  request.progress = io_event::state::finished;
  loop_.finish_behind_others(request);
}

void ring_backend::cancel(io_request& request) noexcept {
  direction& side = direction_of(request);
  const use by{*bias()};
  const biased_lock lock{side.mutex, by};
  switch (request.progress) {
    case io_event::state::idle:
      request.progress = io_event::state::cancelled;
      break;
    case io_event::state::queued:
    case io_event::state::running:
      if (!take_out(by, request)) return cancel_in_kernel(by, request);
      request.result = -ECANCELED;
      request.progress = io_event::state::finished;
      loop_.finish(request);
      break;
    default:
      break;
  }
}

/// Returns false if the request has been submitted to the kernel.
bool ring_backend::take_out(const use& by, io_request& request) noexcept {
  const bool was_first = request.progress == io_event::state::running;
  if (was_first && !poller_.get()->uring.revoke(by, user_data_of(request))) return false;
  if (is_file(request)) {
    --record_of(request).in_kernel;
    return true;
  }
  direction& side = direction_of(request);
  side.queue.remove(request);
  if (was_first) begin_first(by, side);
  return true;
}

/// The kernel processes entries in order, so this cannot cancel a later request at the same address.
void ring_backend::cancel_in_kernel(const use& by, io_request& request) noexcept {
  request.progress = io_event::state::cancelling;
  poller_.get()->uring.push(by, [&request](io_uring_sqe& entry) {
    entry.opcode = IORING_OP_ASYNC_CANCEL;
    entry.fd = -1;
    entry.addr = user_data_of(request);
    entry.user_data = ignored;
    entry.flags = IOSQE_CQE_SKIP_SUCCESS;
  });
  flush_soon(by);
}

bool ring_backend::withdraw(io_request& request) noexcept {
  direction& side = direction_of(request);
  {
    const use by{*bias()};
    const biased_lock lock{side.mutex, by};
    switch (request.progress) {
      case io_event::state::queued:
      case io_event::state::running:
        if (take_out(by, request)) return true;
        cancel_in_kernel(by, request);
        break;
      case io_event::state::cancelling:
        break;
      default:
        return loop_.unlist(request);
    }
  }
  completions completed;
  harvest found{completed, {}};
  poller_.get()->uring.reap_until([&](const io_uring_cqe& completion) { handle(completion, found); },
                                  [&] {
                                    const use by{*bias()};
                                    const biased_lock lock{side.mutex, by};
                                    return request.progress == io_event::state::finished;
                                  });
  completed.remove(request);
  loop_.finish(completed);
  if (found.seen.woken) wake();
  if (found.seen.timer) poller_.get()->sources.set_timer(1);
  return true;
}

io_backend::signals ring_backend::poll(bool wait, completions& completed) noexcept {
  poller* const active = wait ? poller_.try_make() : poller_.get();
  if (!active) {
    if (wait) ::poll(nullptr, 0, poller_retry_ms);
    return {true, true};  // either may have happened: without a poller there is no way to tell
  }
  active->uring.enter(wait);
  harvest found{completed, {}};
  active->uring.reap([&](const io_uring_cqe& completion) { handle(completion, found); });
  return found.seen;
}

void ring_backend::flush() noexcept {
  if (poller* const active = poller_.get()) active->uring.enter(false);
}

void ring_backend::handle(const io_uring_cqe& completion, harvest& found) noexcept {
  const bool is_last = (completion.flags & IORING_CQE_F_MORE) == 0;
  switch (completion.user_data) {
    case ignored:
      break;
    case event_fired:
      found.seen.woken = true;
      if (is_last) poller_.get()->watch_event(use{*bias()});
      break;
    case timer_fired:
      found.seen.timer = true;
      if (is_last) poller_.get()->watch_timer(use{*bias()});
      break;
    default:
      handle(*reinterpret_cast<io_request*>(completion.user_data), completion.res, found.completed);
  }
}

void ring_backend::handle(io_request& request, std::int64_t result, completions& completed) noexcept {
  const bool is_of_file = is_file(request);
  const use by{*bias(), is_of_file || waits_until_ready(request)};
  direction& side = direction_of(request);
  const biased_lock lock{side.mutex, by};
  if (!conclude(request, result)) return begin(by, request);
  if (is_of_file) {
    --record_of(request).in_kernel;
  } else {
    side.queue.remove(request);
  }
  complete(request, completed);
  if (!is_of_file) begin_first(by, side);
}

/// Sets the result of the request. Returns false if it must be pushed again.
bool ring_backend::conclude(io_request& request, std::int64_t result) noexcept {
  const bool is_stopped = request.progress == io_event::state::cancelling;
  request.result = result;
  if (result >= 0) {
    if (!waits_until_ready(request)) return true;
    request.result = is_stopped ? -ECANCELED : try_now(request);
    if (request.result == not_ready) request.result = end_if_shut_down(request);
    return request.result != not_ready;
  }
  if (result == -EAGAIN && request.opcode == io_opcode::accept) {
    if (const std::int64_t end = end_if_shut_down(request); end != not_ready) request.result = end;
    return true;
  }
  // Of an open that waited for the other end of a FIFO. No header for programs names this error.
  constexpr std::int64_t restart_system_call = 512;
  const bool is_interrupted = result == -ECANCELED || result == -EINTR || result == -restart_system_call;
  // The connection failed before it was accepted; the listener is unaffected.
  const bool is_aborted =
      request.opcode == io_opcode::accept && (result == -ECONNABORTED || result == -EPROTO);
  if (!is_interrupted && !is_aborted) return true;
  if (is_stopped) {
    request.result = -ECANCELED;
    return true;
  }
  // Without a stop request, the kernel cancelled the request because the thread that submitted it has exited.
  // The error can also come from a file system; for a file, a second attempt decides.
  if (!is_file(request)) return false;
  request.result = run_blocking(request);
  return true;
}

/// Pushes the next request of a queue, if there is one.
void ring_backend::begin_first(const use& by, direction& side) noexcept {
  if (!side.queue.empty()) begin(by, static_cast<io_request&>(*side.queue.front()));
}

void ring_backend::wake() noexcept {
  if (const poller* const active = poller_.get()) active->sources.wake();
}
void ring_backend::set_timer(std::uint64_t time) noexcept {
  if (const poller* const active = poller_.get()) active->sources.set_timer(time);
}
}  // namespace coracle::detail
