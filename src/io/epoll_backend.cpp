// SPDX-License-Identifier: MIT
#include "epoll_backend.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "io_loop.hpp"
#include "system_call.hpp"

namespace coracle::detail {
namespace {
constexpr int events_per_call = 128;
/// Their addresses stand for what ends a sleep, where those of records stand for descriptors.
constexpr char wake_name = 0, timer_name = 0;
constexpr std::uint32_t watched_to_read = EPOLLIN | EPOLLRDHUP;

[[maybe_unused]] constexpr const char* closed_too_early =
    "a file or socket was closed while operations on it were pending: request their stop and let them end "
    "first";

/// So often a thread that cannot sleep in the system looks for what is over.
constexpr int ms_without_poller = 1;
}  // namespace

epoll_backend::poller::poller() : epoll(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1") {
  if (!watch(EPOLL_CTL_ADD, ends.event_fd(), &wake_name, EPOLLIN) ||
      !watch(EPOLL_CTL_ADD, ends.timer_fd(), &timer_name, EPOLLIN)) {
    throw_errno("epoll_ctl");
  }
}

bool epoll_backend::poller::watch(int operation, int fd, const void* name,
                                  std::uint32_t events) const noexcept {
  epoll_event wanted{};
  wanted.events = events | EPOLLET;
  wanted.data.ptr = const_cast<void*>(name);
  return ::epoll_ctl(epoll.get(), operation, fd, &wanted) == 0;
}

epoll_backend::epoll_backend(io_loop& loop, std::string_view reason)
    : io_backend(loop.system(), {"epoll", reason}), loop_(loop), page_cache_(loop.system()), threads_(loop) {}

std::size_t epoll_backend::attached() noexcept { return records_.in_use(); }

io_record& epoll_backend::attach(int fd, io_descriptor_kind kind) {
  const bool watched = kind == io_descriptor_kind::pollable;
  poller* const its_poller = watched ? &poller_.make() : nullptr;
  record& its = records_.take();
  its.backend = this;
  its.kind = kind;
  its.fd = fd;
  its.watches_writing = false;
  if (watched && !its_poller->watch(EPOLL_CTL_ADD, fd, &its, watched_to_read)) {
    const int error = errno;
    records_.give_back(its);
    throw std::system_error(error, std::system_category(), "epoll_ctl");
  }
  if (watched) loop_.watched(true);
  return its;
}

void epoll_backend::detach(io_record& attached) noexcept {
  auto& its = static_cast<record&>(attached);
  for (direction* each : {&its.reading, &its.writing}) {
    const small_mutex_lock lock{each->mutex};
    CORACLE_REQUIRE(each->queue.empty(), closed_too_early);
  }
  CORACLE_REQUIRE(threads_.has_none_of(its), closed_too_early);
  if (its.kind == io_descriptor_kind::pollable) {
    loop_.watched(false);
    // Closing alone would not do where a child process has the descriptor too.
    poller_.make().watch(EPOLL_CTL_DEL, its.fd, nullptr, 0);
  }
  if (its.fd >= 0) ::close(its.fd);  // else AT_FDCWD, which is no descriptor
  records_.give_back(its);
}

epoll_backend::direction& epoll_backend::direction_of(const io_request& request) noexcept {
  record& its = record_of(request);
  return waits_to_read(request.opcode) ? its.reading : its.writing;
}

bool epoll_backend::submit(io_request& request) noexcept {
  return is_file(request) ? submit_file(request) : submit_polled(request);
}

bool epoll_backend::submit_polled(io_request& request) noexcept {
  direction& its = direction_of(request);
  const small_mutex_lock lock{its.mutex};
  if (request.progress == io_event::state::cancelled) {
    request.result = -ECANCELED;
    return false;
  }
  if (its.queue.empty()) {
    request.result = try_now(request);
    if (request.result != not_ready) {
      request.progress = io_event::state::finished;
      return false;
    }
  }
  if (!waits_to_read(request.opcode) && !watch_writing(record_of(request))) {
    request.result = unless_lost(request, [error = errno] { return -error; });
    return false;
  }
  request.progress = io_event::state::queued;
  its.queue.push(request);
  return true;
}

/// From the first time that somebody has to wait for it: most can always be written, and some kinds of socket
/// tell so at every turn.
bool epoll_backend::watch_writing(record& its) noexcept {
  its.watches_writing =
      its.watches_writing || poller_.make().watch(EPOLL_CTL_MOD, its.fd, &its, watched_to_read | EPOLLOUT);
  return its.watches_writing;
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
  direction& its = direction_of(request);
  const small_mutex_lock lock{its.mutex};
  if (request.progress == io_event::state::idle) request.progress = io_event::state::cancelled;
  if (request.progress != io_event::state::queued) return;
  its.queue.remove(request);
  request.result = -ECANCELED;
  request.progress = io_event::state::finished;
  loop_.finish(request);
}

bool epoll_backend::withdraw(io_request& request) noexcept {
  if (is_file(request)) return threads_.withdraw(request);
  {
    direction& its = direction_of(request);
    const small_mutex_lock lock{its.mutex};
    if (request.progress == io_event::state::queued) {
      its.queue.remove(request);
      return true;
    }
  }
  return loop_.unlist(request);
}

io_backend::signals epoll_backend::poll(bool wait) noexcept {
  poller* const its_poller = wait ? poller_.try_make() : poller_.get();
  if (!its_poller) {
    if (wait) ::poll(nullptr, 0, ms_without_poller);
    return {true, true};  // for all that is known
  }
  epoll_event found[events_per_call];
  const int count = ::epoll_wait(its_poller->epoll.get(), found, events_per_call, wait ? -1 : 0);
  signals seen;
  for (int i = 0; i < count; ++i) {
    const void* const name = found[i].data.ptr;
    if (name == &wake_name) {
      seen.woken = true;
    } else if (name == &timer_name) {
      seen.timer = true;
    } else {
      constexpr std::uint32_t both = EPOLLHUP | EPOLLERR;
      record& its = *static_cast<record*>(found[i].data.ptr);
      if (found[i].events & (EPOLLIN | EPOLLRDHUP | both)) ready(its.reading);
      if (found[i].events & (EPOLLOUT | both)) ready(its.writing);
    }
  }
  return seen;
}

/// Carries out what has been waiting, as far as it goes.
void epoll_backend::ready(direction& its) noexcept {
  const small_mutex_lock lock{its.mutex};
  while (!its.queue.empty()) {
    auto& request = static_cast<io_request&>(*its.queue.front());
    request.result = try_now(request);
    if (request.result == not_ready) return;
    its.queue.remove(request);
    request.progress = io_event::state::finished;
    loop_.finish_in_poll(request);
  }
}

void epoll_backend::wake() noexcept {
  if (const poller* const its_poller = poller_.get()) its_poller->ends.wake();
}
void epoll_backend::set_timer(std::uint64_t time) noexcept {
  if (const poller* const its_poller = poller_.get()) its_poller->ends.set_timer(time);
}
}  // namespace coracle::detail
