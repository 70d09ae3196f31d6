// SPDX-License-Identifier: MIT
#include "open_watcher.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "../../io/system_call.hpp"

namespace coracle::detail::simulated {
int open_watcher::add(std::shared_ptr<const node> what, std::uint32_t changes) {
  const auto found = std::ranges::find(watches_, what, &watched::what);
  if (found != watches_.end()) {
    found->changes = changes;
    return found->number;
  }
  watches_.push_back({next_watch_++, std::move(what), changes});
  return watches_.back().number;
}

int open_watcher::remove(int watch) {
  if (std::erase_if(watches_, [&](const auto& each) { return each.number == watch; }) == 0) return -EINVAL;
  report({watch, IN_IGNORED, 0, {}});
  return 0;
}

void open_watcher::entry_changed(const folder& in, std::string_view name, const node& what,
                                 std::uint32_t change, std::uint32_t cookie) {
  const std::uint32_t kind = what.type == node::kind::folder ? IN_ISDIR : 0U;
  for (const watched& each : watches_) {
    if (each.what.get() == &in && (each.changes & change) != 0)
      report({each.number, change | kind, cookie, std::string(name)});
  }
}

void open_watcher::self_changed(const node& what, std::uint32_t change) {
  const auto found = std::ranges::find(watches_, &what, [](const watched& each) { return each.what.get(); });
  if (found == watches_.end()) return;
  if ((found->changes & change) != 0) {
    const std::uint32_t kind = what.type == node::kind::folder ? IN_ISDIR : 0U;
    report({found->number, change | kind, 0, {}});
  }
  if (change == IN_DELETE_SELF) remove(found->number);
}

void open_watcher::report(event what) {
  if (!events_.empty() && events_.back() == what) return;
  if (events_.size() > most_events) return;
  if (events_.size() == most_events) what = {-1, IN_Q_OVERFLOW, 0, {}};
  events_.push_back(std::move(what));
  may_be_read();
}

std::int64_t open_watcher::read(void* to, std::size_t size) {
  std::size_t used = 0;
  while (!events_.empty()) {
    const event& next = events_.front();
    constexpr std::size_t alignment = sizeof(::inotify_event);
    const std::size_t name_size =
        next.name.empty() ? 0 : (next.name.size() + alignment) / alignment * alignment;
    if (used + sizeof(::inotify_event) + name_size > size) {
      if (used == 0) return -EINVAL;
      break;
    }
    ::inotify_event head{};
    head.wd = next.watch;
    head.mask = next.change;
    head.cookie = next.cookie;
    head.len = static_cast<std::uint32_t>(name_size);
    char* const at = static_cast<char*>(to) + used;
    std::memcpy(at, &head, sizeof head);
    std::memset(at + sizeof head, 0, name_size);
    next.name.copy(at + sizeof head, next.name.size());
    used += sizeof head + name_size;
    events_.pop_front();
    if (disk_.chance(disk_.faults.short_transfers)) break;
  }
  return static_cast<std::int64_t>(used);
}

std::int64_t open_watcher::try_now(io_request& request) {
  if (dead_) return -EIO;
  switch (request.opcode) {
    case io_opcode::read:
      return events_.empty() ? not_ready : read(request.buffer, request.size);
    case io_opcode::wait_readable:
      return events_.empty() ? not_ready : 1;
    default:
      return -EBADF;
  }
}

void open_watcher::lose_power() {
  dead_ = true;
  watches_.clear();
  may_be_read();
}
}  // namespace coracle::detail::simulated
