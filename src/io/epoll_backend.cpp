// SPDX-License-Identifier: MIT
#include "epoll_backend.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>

#include "io_loop.hpp"
#include "pending_requests.hpp"
#include "system_call.hpp"
#include "system_error.hpp"

namespace coracle::detail {
namespace {
constexpr int events_per_call = 128;
/// The addresses of these are the keys of the wake_sources; the key of a descriptor is the address of its
/// record.
constexpr char wake_key = 0, timer_key = 0;
constexpr std::uint32_t watched_to_read = EPOLLIN | EPOLLRDHUP | EPOLLPRI;

/// How many calls of fork() have led to this process.
constinit std::uint32_t generation = 0;
[[maybe_unused]] const int counted_by_fork = ::pthread_atfork(nullptr, nullptr, [] { ++generation; });
}  // namespace

epoll_backend::poller::poller()
    : epoll(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1"), made_in(generation) {
  if (!watch(EPOLL_CTL_ADD, sources.event_fd(), &wake_key, EPOLLIN) ||
      !watch(EPOLL_CTL_ADD, sources.timer_fd(), &timer_key, EPOLLIN)) {
    throw_errno("epoll_ctl");
  }
}

bool epoll_backend::poller::watch(int operation, int fd, const void* key,
                                  std::uint32_t events) const noexcept {
  epoll_event wanted{};
  wanted.events = events | EPOLLET;
  wanted.data.ptr = const_cast<void*>(key);
  return ::epoll_ctl(epoll.get(), operation, fd, &wanted) == 0;
}
void epoll_backend::poller::forget(int fd) const noexcept {
  if (made_in == generation) watch(EPOLL_CTL_DEL, fd, nullptr, 0);
}

epoll_backend::epoll_backend(io_loop& loop, std::string_view reason)
    : io_backend(loop.system(), {"epoll", reason}), loop_(loop), page_cache_(loop.system()), threads_(loop) {}

std::size_t epoll_backend::attached() noexcept { return records_.in_use(); }

io_record& epoll_backend::attach(int fd, io_descriptor_kind kind) {
  const bool watched = kind == io_descriptor_kind::pollable;
  poller* const active = watched ? &poller_.make() : nullptr;
  record& descriptor = records_.take();
  descriptor.backend = this;
  descriptor.kind = kind;
  descriptor.fd = fd;
  descriptor.watches_writing = false;
  {
    const small_mutex_lock lock{descriptor.reading.mutex};
    descriptor.input.reset();
  }
  if (watched && !active->watch(EPOLL_CTL_ADD, fd, &descriptor, watched_to_read)) {
    if (const int error = errno; error != EPERM) {
      records_.give_back(descriptor);
      throw_error(error, "epoll_ctl");
    }
    // A device without poll(2), such as /dev/null, or a directory.
    descriptor.kind = io_descriptor_kind::file;
    return descriptor;
  }
  if (watched) loop_.count_watched(true);
  return descriptor;
}

void epoll_backend::detach(io_record& attached) noexcept {
  auto& descriptor = static_cast<record&>(attached);
  for (direction* each : {&descriptor.reading, &descriptor.writing}) {
    const small_mutex_lock lock{each->mutex};
    CORACLE_REQUIRE(each->queue.empty(), closed_too_early);
  }
  CORACLE_REQUIRE(threads_.has_none_of(descriptor), closed_too_early);
  if (descriptor.kind == io_descriptor_kind::pollable) {
    loop_.count_watched(false);
    // close() alone would leave it registered if a child process has a copy of the descriptor.
    poller_.make().forget(descriptor.fd);
  }
  if (descriptor.fd >= 0) ::close(descriptor.fd);  // AT_FDCWD is not a descriptor
  records_.give_back(descriptor);
}

void epoll_backend::add_pending(io_service_metrics& to) {
  for (record* const each : records_.all()) {
    add_requests(each->reading.queue, each->reading.mutex, to);
    add_requests(each->writing.queue, each->writing.mutex, to);
    to.file_operations += threads_.count_of(*each);
  }
}

epoll_backend::direction& epoll_backend::direction_of(const io_request& request) noexcept {
  record& descriptor = record_of(request);
  return waits_to_read(request.opcode) ? descriptor.reading : descriptor.writing;
}

bool epoll_backend::submit(io_request& request) noexcept {
  return is_file(request) ? submit_file(request) : submit_polled(request);
}

bool epoll_backend::submit_polled(io_request& request) noexcept {
  direction& side = direction_of(request);
  const small_mutex_lock lock{side.mutex};
  if (request.progress == io_event::state::cancelled) {
    request.result = -ECANCELED;
    return false;
  }
  if (side.queue.empty() && attempt(request)) return false;
  if (!waits_to_read(request.opcode) && !watch_writing(record_of(request))) {
    request.result = unless_lost(request, [error = errno] { return -error; });
    return false;
  }
  request.progress = io_event::state::queued;
  side.queue.push(request);
  return true;
}

/// Executes the request if that is possible without waiting.
bool epoll_backend::attempt(io_request& request) noexcept {
  drained_stream& input = record_of(request).input;
  if (input.is_drained_for(request)) return false;
  request.result = try_now(request);
  if (request.result == not_ready && input.is_shut_down()) request.result = end_if_shut_down(request);
  if (request.result == not_ready) return false;
  request.progress = io_event::state::finished;
  input.completed(request);
  return true;
}

/// Called when a request first has to wait until it can write. Watching earlier would cost events for
/// nothing: most descriptors are almost always writable, and some kinds of socket report it again and again.
bool epoll_backend::watch_writing(record& descriptor) noexcept {
  descriptor.watches_writing =
      descriptor.watches_writing ||
      poller_.make().watch(EPOLL_CTL_MOD, descriptor.fd, &descriptor, watched_to_read | EPOLLOUT);
  return descriptor.watches_writing;
}

bool epoll_backend::submit_file(io_request& request) noexcept {
  if (threads_.is_cancelled(request)) return threads_.submit(request);
  request.result = page_cache_.attempt(request, record_of(request).kind);
  return request.result == not_ready && threads_.submit(request);
}

void epoll_backend::deliver(io_request& request) noexcept {
  if (is_file(request)) return threads_.deliver(request);
  loop_.finish_behind_others(request);
}

void epoll_backend::cancel(io_request& request) noexcept {
  if (is_file(request)) return threads_.cancel(request);
  direction& side = direction_of(request);
  const small_mutex_lock lock{side.mutex};
  if (request.progress == io_event::state::idle) request.progress = io_event::state::cancelled;
  if (request.progress != io_event::state::queued) return;
  side.queue.remove(request);
  request.result = -ECANCELED;
  request.progress = io_event::state::finished;
  loop_.finish(request);
}

bool epoll_backend::withdraw(io_request& request) noexcept {
  if (is_file(request)) return threads_.withdraw(request);
  {
    direction& side = direction_of(request);
    const small_mutex_lock lock{side.mutex};
    if (request.progress == io_event::state::queued) {
      side.queue.remove(request);
      return true;
    }
  }
  return loop_.unlist(request);
}

io_backend::signals epoll_backend::poll(bool wait, completions& completed) noexcept {
  poller* const active = wait ? poller_.try_make() : poller_.get();
  if (!active) {
    if (wait) ::poll(nullptr, 0, poller_retry_ms);
    return {true, true};  // either may have happened: without a poller there is no way to tell
  }
  epoll_event found[events_per_call];
  const int count = ::epoll_wait(active->epoll.get(), found, events_per_call, wait ? -1 : 0);
  signals seen;
  for (int i = 0; i < count; ++i) {
    const void* const key = found[i].data.ptr;
    if (key == &wake_key) {
      seen.woken = true;
    } else if (key == &timer_key) {
      seen.timer = true;
    } else {
      constexpr std::uint32_t both = EPOLLHUP | EPOLLERR;
      record& descriptor = *static_cast<record*>(found[i].data.ptr);
      const std::uint32_t events = found[i].events;
      if (events & (watched_to_read | both)) {
        const small_mutex_lock lock{descriptor.reading.mutex};
        descriptor.input.reported(events);
        ready(descriptor.reading, completed);
      }
      if (events & (EPOLLOUT | both)) {
        const small_mutex_lock lock{descriptor.writing.mutex};
        ready(descriptor.writing, completed);
      }
    }
  }
  return seen;
}

/// Carries out queued requests until one would block. Called with the lock of the direction held.
void epoll_backend::ready(direction& side, completions& completed) noexcept {
  while (!side.queue.empty()) {
    auto& request = static_cast<io_request&>(*side.queue.front());
    if (!attempt(request)) return;
    side.queue.remove(request);
    complete(request, completed);
  }
}

void epoll_backend::wake() noexcept {
  if (const poller* const active = poller_.get()) active->sources.wake();
}
void epoll_backend::set_timer(std::uint64_t time) noexcept {
  if (const poller* const active = poller_.get()) active->sources.set_timer(time);
}
}  // namespace coracle::detail
