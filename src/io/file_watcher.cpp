// SPDX-License-Identifier: MIT
#include <limits.h>
#include <sys/inotify.h>

#include <cerrno>
#include <coracle/io/detail/one_operation.hpp>
#include <coracle/io/file_watcher.hpp>
#include <cstring>
#include <string>

#include "io_system.hpp"
#include "path_in_message.hpp"
#include "system_error.hpp"

namespace coracle {
namespace {
constexpr std::uint32_t bits(file_change change) noexcept { return static_cast<std::uint32_t>(change); }
static_assert(bits(file_change::modified) == IN_MODIFY);
static_assert(bits(file_change::attributes) == IN_ATTRIB);
static_assert(bits(file_change::closed_after_write) == IN_CLOSE_WRITE);
static_assert(bits(file_change::moved_from) == IN_MOVED_FROM);
static_assert(bits(file_change::moved_to) == IN_MOVED_TO);
static_assert(bits(file_change::created) == IN_CREATE);
static_assert(bits(file_change::removed) == IN_DELETE);
static_assert(bits(file_change::self_removed) == IN_DELETE_SELF);
static_assert(bits(file_change::self_moved) == IN_MOVE_SELF);
static_assert(bits(file_change::unmounted) == IN_UNMOUNT);
static_assert(bits(file_change::overflow) == IN_Q_OVERFLOW);
static_assert(bits(file_change::watch_ended) == IN_IGNORED);

detail::io_descriptor new_watcher(io_service& service) {
  const int fd = detail::io_descriptor::system_of(service).open_watcher();
  if (fd < 0) detail::throw_error(-fd, "cannot watch files");
  return {service, fd, detail::io_descriptor_kind::pollable};
}
[[noreturn]] void fail_to_watch(int error, const std::filesystem::path& path) {
  detail::throw_error(error, "cannot watch " + detail::path_in_message(path));
}
}  // namespace

file_watcher::file_watcher(io_service& service) : descriptor_(new_watcher(service)) {
  static_assert(buffer_size >= sizeof(::inotify_event) + NAME_MAX + 1);
}

file_watch file_watcher::add(const std::filesystem::path& path, file_change changes) {
  if (path.native().find('\0') != std::string::npos) fail_to_watch(EINVAL, path);
  const std::uint32_t wanted = bits(changes & file_change::all);
  const int watch = descriptor_.system().watch(descriptor_.native_handle(), path.c_str(), wanted);
  if (watch < 0) fail_to_watch(-watch, path);
  return static_cast<file_watch>(watch);
}

void file_watcher::remove(file_watch watch) noexcept {
  descriptor_.system().unwatch(descriptor_.native_handle(), static_cast<int>(watch));
}

file_event file_watcher::take() noexcept {
  const std::byte* const at = buffer_.data() + begin_;
  ::inotify_event head;
  std::memcpy(&head, at, sizeof head);
  begin_ += sizeof head + head.len;
  file_event event;
  event.watch = static_cast<file_watch>(head.wd);
  event.what = static_cast<file_change>(head.mask & ~std::uint32_t{IN_ISDIR});
  event.is_directory = (head.mask & IN_ISDIR) != 0;
  event.rename_id = head.cookie;
  if (head.len != 0) event.name = reinterpret_cast<const char*>(at + sizeof head);  // padded with NULs
  return event;
}

detail::library_task<file_event> file_watcher::next_body(stop_token token) {
  CORACLE_REQUIRE(!is_awaited_,
                  "two coroutines await the next event of a file_watcher: let one of them await all events");
  const detail::set_in_scope awaited{is_awaited_};
  while (begin_ == end_) {
    const std::size_t got = co_await descriptor_.read_some(buffer_, token);
    begin_ = 0;
    end_ = got;
  }
  co_return take();
}
async_generator<const file_event> file_watcher::events() {
  for (;;) {
    const file_event event = co_await next();
    co_yield event;
  }
}
}  // namespace coracle
