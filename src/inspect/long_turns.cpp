// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/base/thread.hpp>
#include <coracle/inspect/long_turns.hpp>
#include <cstdio>
#include <system_error>
#include <utility>

#include "awaits.hpp"
#include "own_symbols.hpp"
#include "turn_recorder.hpp"

namespace coracle {
namespace detail {
namespace {
std::string text_of(const await_chain& awaits) {
  return own_symbols::with([&](symbols& names) {
    std::string text;
    for (std::size_t i = 0; i != awaits.size; ++i) {
      append_function(names, awaits.functions[i], text);
      text += '\n';
    }
    return text;
  });
}
}  // namespace

class long_turn_reporter {
 public:
  long_turn_reporter(std::chrono::nanoseconds limit, long_turn_watch::report* to)
      : limit_(limit), report_(to) {
    CORACLE_REQUIRE(limit > std::chrono::nanoseconds::zero(),
                    "a long_turn_watch needs a positive limit: the longest turn that is not reported");
    own_symbols::load();
    const std::int64_t before =
        turn_recorder::keep_long_turns(turn_recorder::watcher::program, limit.count());
    CORACLE_REQUIRE(before == 0, "a second long_turn_watch was constructed: destroy the first one before");
    if (const int error = start_quiet_thread(thread_, &run, this); error != 0) {
      turn_recorder::keep_long_turns(turn_recorder::watcher::program, 0);
      CORACLE_THROW(std::system_error(error, std::system_category(), "coracle::long_turn_watch cannot start"),
                    "there is no thread for a long_turn_watch");
    }
  }
  ~long_turn_reporter() {
    ends_.store(1, memory_order_relaxed); /*E1*/
    unpark(&ends_, 1);
    join_thread(thread_);
    turn_recorder::keep_long_turns(turn_recorder::watcher::program, 0);
  }

 private:
  static void* run(void* self) {
    static_cast<long_turn_reporter*>(self)->look_around();
    return nullptr;
  }
  void look_around() {
    name_this_thread("coracle-turns");
    while (ends_.load(memory_order_relaxed) == 0) { /*E2*/
      park_until(ends_, 0, real_now() + limit_ / 2);
      CORACLE_TRY() { report_new(); }
      CORACLE_CATCH_ALL() {}  // without memory there is no report
    }
  }
  void report_new() {
    std::vector<std::pair<pid_t, std::uint64_t>> seen;
    for (const observed_turn& each : turn_recorder::long_turns()) {
      const std::chrono::nanoseconds lasted(nanoseconds_now() - each.began);
      if (each.ended != 0 || lasted < limit_) continue;
      seen.emplace_back(each.thread, each.number);
      if (std::find(reported_.begin(), reported_.end(), seen.back()) != reported_.end()) continue;
      report_({lasted, each.thread, text_of(each.awaits)});
    }
    reported_ = std::move(seen);
  }

  const std::chrono::nanoseconds limit_;
  long_turn_watch::report* const report_;
  std::vector<std::pair<pid_t, std::uint64_t>> reported_;  // those that are still under way
  //   [E1] 0 -> 1  relaxed  it only ends the loop: join_thread() orders the rest
  //   [E2] load    relaxed  the same
  atomic<std::uint32_t> ends_{0};
  thread_handle thread_{};
};
}  // namespace detail

void long_turn_watch::print(const long_turn& seen) {
  std::string text = "coracle: thread " + std::to_string(seen.thread) + " has run one coroutine for ";
  char time[32];
  std::snprintf(time, sizeof time, "%.1f ms", static_cast<double>(seen.lasted.count()) / 1e6);
  text += std::string(time) + " without a wait\n";
  for (std::size_t at = 0; at < seen.awaits.size();) {
    const std::size_t end = seen.awaits.find('\n', at) + 1;
    text += "  " + seen.awaits.substr(at, end - at);
    at = end;
  }
  std::fputs(text.c_str(), stderr);
}

long_turn_watch::long_turn_watch(std::chrono::nanoseconds limit, report* to)
    : reporter_(new detail::long_turn_reporter(limit, to)) {}
long_turn_watch::~long_turn_watch() { delete reporter_; }
}  // namespace coracle
