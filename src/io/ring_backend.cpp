// SPDX-License-Identifier: MIT
#include "ring_backend.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "io_loop.hpp"
#include "system_call.hpp"

namespace coracle::detail {
namespace {
// What an entry is for: these, or the address of a request.
constexpr std::uint64_t for_nothing = 0, for_event = 1, for_timer = 2;

[[maybe_unused]] constexpr const char* closed_too_early =
    "a file or socket was closed while operations on it were pending: request their stop and let them end "
    "first";
/// So often a thread that has no ring to sleep in looks for what is over.
constexpr int ms_without_poller = 1;
/// As an offset: that of the open file, which moves along, as by read(2).
constexpr std::uint64_t where_the_file_is = ~std::uint64_t{0};
/// The most that the kernel reads or writes at once, in bytes.
constexpr std::size_t most_bytes = 0x7ffff000;

std::uint64_t name_of(const io_request& request) noexcept {
  return reinterpret_cast<std::uintptr_t>(&request);
}

/// Returns true if the kernel is asked only when the descriptor is ready, and try_now() does the rest.
bool waits_until_ready(const io_request& request) noexcept {
  if (request.one_of) return true;
  if (request.opcode >= io_opcode::read_at) return false;
  switch (request.opcode) {
    case io_opcode::receive:
    case io_opcode::send:
    case io_opcode::accept:
      return false;
    case io_opcode::read:
    case io_opcode::write:
      return request.record->kind == io_descriptor_kind::pollable;
    default:
      return true;
  }
}

std::uint64_t address_of(const void* memory) noexcept { return reinterpret_cast<std::uintptr_t>(memory); }

void fill(io_uring_sqe& entry, std::uint8_t opcode, const io_request& request) noexcept {
  entry.opcode = opcode;
  entry.fd = request.record->fd;
  entry.addr = address_of(request.buffer);
  entry.len = static_cast<std::uint32_t>(std::min(request.size, most_bytes));
  entry.off = request.offset;
}
void fill_poll(io_uring_sqe& entry, int fd, std::uint32_t events) noexcept {
  entry.opcode = IORING_OP_POLL_ADD;
  entry.fd = fd;
  entry.poll32_events = events;
}
/// Of a path. What the calls have in common is at the same place for all of them.
void fill_path(io_uring_sqe& entry, std::uint8_t opcode, const io_request& request) noexcept {
  entry.opcode = opcode;
  entry.fd = request.record->fd;
  entry.addr = address_of(request.buffer);
  entry.addr2 = address_of(request.address);
  entry.len = static_cast<std::uint32_t>(request.size);
  entry.open_flags = static_cast<std::uint32_t>(request.flags);
}
void fill_two_paths(io_uring_sqe& entry, std::uint8_t opcode, const io_request& request) noexcept {
  fill_path(entry, opcode, request);
  entry.len = static_cast<std::uint32_t>(entry.fd);  // where the second begins
}
void fill_entry(io_uring_sqe& entry, io_request& request) noexcept {
  entry.user_data = name_of(request);
  if (waits_until_ready(request)) {
    return fill_poll(entry, request.record->fd, waits_to_read(request.opcode) ? POLLIN : POLLOUT);
  }
  switch (request.opcode) {
    case io_opcode::receive:
      fill(entry, IORING_OP_RECV, request);
      entry.msg_flags = static_cast<std::uint32_t>(request.flags);
      break;
    case io_opcode::send:
      fill(entry, IORING_OP_SEND, request);
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
      fill(entry, IORING_OP_READ, request);
      break;
    case io_opcode::write_at:
      fill(entry, IORING_OP_WRITE, request);
      break;
    case io_opcode::read:
      fill(entry, IORING_OP_READ, request);
      entry.off = where_the_file_is;
      break;
    case io_opcode::write:
      fill(entry, IORING_OP_WRITE, request);
      entry.off = where_the_file_is;
      break;
    case io_opcode::open:
      fill_path(entry, IORING_OP_OPENAT, request);
      break;
    case io_opcode::status:
      fill_path(entry, IORING_OP_STATX, request);
      break;
    case io_opcode::rename:
      fill_two_paths(entry, IORING_OP_RENAMEAT, request);
      break;
    case io_opcode::link:
      fill_two_paths(entry, IORING_OP_LINKAT, request);
      break;
    case io_opcode::symlink:
      fill_path(entry, IORING_OP_SYMLINKAT, request);
      break;
    case io_opcode::make_folder:
      fill_path(entry, IORING_OP_MKDIRAT, request);
      break;
    case io_opcode::remove:
      fill_path(entry, IORING_OP_UNLINKAT, request);
      break;
    default:
      entry.opcode = IORING_OP_FSYNC;
      entry.fd = request.record->fd;
  }
}
}  // namespace

ring_backend::poller::poller() {
  watch_event();
  watch_timer();
}
void ring_backend::poller::watch_event() noexcept {
  its_ring.push([this](io_uring_sqe& entry) {
    fill_poll(entry, ends.event_fd(), POLLIN);
    entry.len = IORING_POLL_ADD_MULTI;
    entry.user_data = for_event;
  });
}
void ring_backend::poller::watch_timer() noexcept {
  its_ring.push([this](io_uring_sqe& entry) {
    fill_poll(entry, ends.timer_fd(), POLLIN);
    entry.len = IORING_POLL_ADD_MULTI;
    entry.user_data = for_timer;
  });
}

ring_backend::ring_backend(io_loop& loop, std::string_view reason) noexcept
    : io_backend(loop.system(), {"io_uring", reason}), loop_(loop), page_cache_(loop.system()) {}

io_record& ring_backend::attach(int fd, io_descriptor_kind kind) {
  poller_.make();
  record& its = records_.take();
  its.backend = this;
  its.kind = kind;
  its.fd = fd;
  loop_.watched(true);
  return its;
}

void ring_backend::detach(io_record& attached) noexcept {
  auto& its = static_cast<record&>(attached);
  for (direction* each : {&its.reading, &its.writing}) {
    const small_mutex_lock lock{each->mutex};
    CORACLE_REQUIRE(each->queue.empty() && its.in_kernel == 0, closed_too_early);
  }
  loop_.watched(false);
  if (its.fd >= 0) ::close(its.fd);  // else AT_FDCWD, which is no descriptor
  records_.give_back(its);
}

ring_backend::direction& ring_backend::direction_of(const io_request& request) noexcept {
  record& its = record_of(request);
  return is_file(request) || waits_to_read(request.opcode) ? its.reading : its.writing;
}

bool ring_backend::submit(io_request& request) noexcept {
  direction& its = direction_of(request);
  const small_mutex_lock lock{its.mutex};
  if (request.progress == io_event::state::cancelled) {
    request.result = -ECANCELED;
    return false;
  }
  return is_file(request) ? submit_file(request) : submit_polled(request);
}

bool ring_backend::submit_polled(io_request& request) noexcept {
  intrusive_list<io_event>& queue = direction_of(request).queue;
  if (queue.empty() && is_tried_first(request)) {
    request.result = try_now(request);
    if (request.result != not_ready) {
      request.progress = io_event::state::finished;
      return false;
    }
  }
  const bool is_first = queue.empty();
  request.progress = io_event::state::queued;
  queue.push(request);
  if (is_first) begin(request);
  return true;
}

bool ring_backend::submit_file(io_request& request) noexcept {
  request.result = page_cache_.attempt(request, record_of(request).kind);
  const bool is_beyond = request.offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (request.result == not_ready && is_beyond)
    request.result = -EINVAL;  // some mean something else to a ring
  if (request.result != not_ready) {
    request.progress = io_event::state::finished;
    return false;
  }
  ++record_of(request).in_kernel;
  begin(request);
  return true;
}

/// A system call for one request alone costs less than a round trip through the ring; in company it is the other way round.
bool ring_backend::is_tried_first(const io_request& request) noexcept {
  return waits_until_ready(request) || !loop_.runs_here() ||
         (poller_.make().its_ring.is_empty() && loop_.has_nothing_ready());
}

/// Hands the request to the kernel. With the lock of its direction, as all below.
void ring_backend::begin(io_request& request) noexcept {
  request.progress = io_event::state::running;
  poller_.make().its_ring.push([&request](io_uring_sqe& entry) { fill_entry(entry, request); });
  if (!loop_.runs_here()) loop_.flush_soon();
}

void ring_backend::deliver(io_request& request) noexcept {
  const small_mutex_lock lock{direction_of(request).mutex};
  request.progress = io_event::state::finished;
  loop_.finish_behind_others(request);
}

void ring_backend::cancel(io_request& request) noexcept {
  direction& its = direction_of(request);
  const small_mutex_lock lock{its.mutex};
  switch (request.progress) {
    case io_event::state::idle:
      request.progress = io_event::state::cancelled;
      break;
    case io_event::state::queued:
    case io_event::state::running:
      if (!take_out(request)) return cancel_in_kernel(request);
      request.result = -ECANCELED;
      request.progress = io_event::state::finished;
      loop_.finish(request);
      break;
    default:
      break;
  }
}

/// Returns false if the kernel has it.
bool ring_backend::take_out(io_request& request) noexcept {
  const bool was_first = request.progress == io_event::state::running;
  if (was_first && !poller_.make().its_ring.revoke(name_of(request))) return false;
  if (is_file(request)) {
    --record_of(request).in_kernel;
    return true;
  }
  direction& its = direction_of(request);
  its.queue.remove(request);
  if (was_first) begin_first(its);
  return true;
}

/// Entries are carried out in order, so this cannot meet another request at the same address: that one is pushed later.
void ring_backend::cancel_in_kernel(io_request& request) noexcept {
  request.progress = io_event::state::cancelling;
  poller_.make().its_ring.push([&request](io_uring_sqe& entry) {
    entry.opcode = IORING_OP_ASYNC_CANCEL;
    entry.fd = -1;
    entry.addr = name_of(request);
    entry.user_data = for_nothing;
    entry.flags = IOSQE_CQE_SKIP_SUCCESS;
  });
  if (!loop_.runs_here()) loop_.flush_soon();
}

bool ring_backend::withdraw(io_request& request) noexcept {
  direction& its = direction_of(request);
  {
    const small_mutex_lock lock{its.mutex};
    switch (request.progress) {
      case io_event::state::queued:
      case io_event::state::running:
        if (take_out(request)) return true;
        cancel_in_kernel(request);
        break;
      default:
        break;
    }
  }
  signals seen;
  poller_.make().its_ring.reap_until([&](const io_uring_cqe& completion) { see(completion, seen); },
                                     [&] {
                                       const small_mutex_lock lock{its.mutex};
                                       return request.progress == io_event::state::finished;
                                     });
  if (seen.woken) wake();
  if (seen.timer) poller_.make().ends.set_timer(1);
  return loop_.unlist(request);
}

io_backend::signals ring_backend::poll(bool wait) noexcept {
  poller* const its_poller = wait ? poller_.try_make() : poller_.get();
  if (!its_poller) {
    if (wait) ::poll(nullptr, 0, ms_without_poller);
    return {true, true};  // for all that is known
  }
  its_poller->its_ring.enter(wait);
  signals seen;
  its_poller->its_ring.reap([&](const io_uring_cqe& completion) { see(completion, seen); });
  return seen;
}

void ring_backend::flush() noexcept {
  if (poller* const its_poller = poller_.get()) its_poller->its_ring.enter(false);
}

void ring_backend::see(const io_uring_cqe& completion, signals& seen) noexcept {
  const bool is_last = (completion.flags & IORING_CQE_F_MORE) == 0;
  switch (completion.user_data) {
    case for_nothing:
      break;
    case for_event:
      seen.woken = true;
      if (is_last) poller_.make().watch_event();
      break;
    case for_timer:
      seen.timer = true;
      if (is_last) poller_.make().watch_timer();
      break;
    default:
      completed(*reinterpret_cast<io_request*>(completion.user_data), completion.res);
  }
}

void ring_backend::completed(io_request& request, std::int64_t result) noexcept {
  direction& its = direction_of(request);
  const bool is_of_file = is_file(request);
  const small_mutex_lock lock{its.mutex};
  if (!conclude(request, result)) return begin(request);
  if (is_of_file) {
    --record_of(request).in_kernel;
  } else {
    its.queue.remove(request);
  }
  request.progress = io_event::state::finished;
  loop_.finish_in_poll(request);
  if (!is_of_file) begin_first(its);
}

/// Returns false if the kernel is to be asked again.
bool ring_backend::conclude(io_request& request, std::int64_t result) noexcept {
  const bool is_stopped = request.progress == io_event::state::cancelling;
  request.result = result;
  if (result >= 0) {
    if (!waits_until_ready(request)) return true;
    request.result = is_stopped ? -ECANCELED : try_now(request);
    return request.result != not_ready;
  }
  const bool is_interrupted = result == -ECANCELED || result == -EINTR;
  // One that has gone before it was accepted is no affair of the listener's.
  const bool is_gone = request.opcode == io_opcode::accept && (result == -ECONNABORTED || result == -EPROTO);
  if (!is_interrupted && !is_gone) return true;
  if (is_stopped) {
    request.result = -ECANCELED;
    return true;
  }
  // Without a stop request, the thread that submitted it has ended. What a file answers twice is its own word, though.
  if (!is_file(request)) return false;
  request.result = run_blocking(request);
  return true;
}

/// Has the next request of a queue take its turn.
void ring_backend::begin_first(direction& its) noexcept {
  if (!its.queue.empty()) begin(static_cast<io_request&>(*its.queue.front()));
}

void ring_backend::wake() noexcept {
  if (const poller* const its_poller = poller_.get()) its_poller->ends.wake();
}
void ring_backend::set_timer(std::uint64_t time) noexcept {
  if (const poller* const its_poller = poller_.get()) its_poller->ends.set_timer(time);
}
}  // namespace coracle::detail
