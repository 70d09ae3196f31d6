// src/testing/simulated_host/open_watcher.hpp -- an inotify(7) descriptor of a simulated host.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"
#include "disk.hpp"

namespace coracle::detail::simulated {
class open_watcher final : public descriptor, change_listener {
 public:
  explicit open_watcher(disk& its_disk) : disk_(its_disk) { disk_.names.listen(*this); }
  ~open_watcher() override { disk_.names.ignore(*this); }

  int add(std::shared_ptr<const node> what, std::uint32_t changes);
  int remove(int watch);
  std::int64_t try_now(io_request& request) override;
  std::int64_t fault(const io_request&) override { return -EIO; }
  void close() override {}
  void lose_power() override;

 private:
  static constexpr std::size_t most_events = 16'384;
  struct watched {
    int number;
    std::shared_ptr<const node> what;
    std::uint32_t changes;
  };
  struct event {
    int watch;
    std::uint32_t change, cookie;
    std::string name;
    bool operator==(const event&) const = default;
  };

  void entry_changed(const folder& in, std::string_view name, const node& what, std::uint32_t change,
                     std::uint32_t cookie) override;
  void self_changed(const node& what, std::uint32_t change) override;
  void report(event what);
  std::int64_t read(void* to, std::size_t size);

  disk& disk_;
  std::vector<watched> watches_;
  std::deque<event> events_;
  int next_watch_ = 1;
  bool dead_ = false;
};
}  // namespace coracle::detail::simulated
