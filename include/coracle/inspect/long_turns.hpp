// coracle/inspect/long_turns.hpp -- coroutines that keep their thread for too long.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/chrono.hpp>
#include <string>

namespace coracle {
namespace detail {
class long_turn_reporter;
}

/// A turn that has lasted longer than a limit: a thread resumed a coroutine, which has computed, or blocked,
/// since then. Others that are queued there have to wait.
struct long_turn {
  std::chrono::nanoseconds lasted{0};  ///< so far
  int thread = 0;                      ///< its id, as gdb and top show it
  /// The coroutine with which the turn began, and those that awaited it, one on each line, innermost first.
  std::string awaits;
};

/// Reports each turn that lasts longer than `limit`, once, while it is under way.
///
///     const coracle::long_turn_watch watch(std::chrono::milliseconds(20));
///
///     coracle: thread 29578 has run one coroutine for 24.5 ms without a wait
///       parse_catalogue  (server+0x9840)
///       refresh  (server+0x9b20)
///
/// A turn that ends before a thread has looked, which it does twice in each limit, is not reported; the page
/// of an inspector shows those, too.
/// Threads     has one of its own, on which the report is called. One watch at a time.
/// Cost        two readings of the clock for each turn, while it exists.
class long_turn_watch {
 public:
  using report = void(const long_turn& seen);
  /// Prints what is shown above to stderr.
  static void print(const long_turn& seen);

  /// Requires: there is no other watch, and `limit` is positive.
  /// Exceptions  std::system_error if there is no thread, std::bad_alloc.
  explicit long_turn_watch(std::chrono::nanoseconds limit = std::chrono::nanoseconds{10'000'000},
                           report* to = &print);
  long_turn_watch(const long_turn_watch&) = delete;
  long_turn_watch& operator=(const long_turn_watch&) = delete;
  /// Joins the thread.
  ~long_turn_watch();

 private:
  detail::long_turn_reporter* reporter_;  // its own
};
}  // namespace coracle
