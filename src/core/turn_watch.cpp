// SPDX-License-Identifier: MIT
#include <coracle/core/executor.hpp>

namespace coracle::detail {
#if defined(CORACLE_MODEL)
void run_watched_turn(resumption& item) { resume(item.handle); }
void tell_of_post(const resumption&, bool) noexcept {}
#else
constinit turn_watch_word watched_turns;

void run_watched_turn(resumption& item) {
  const turn_watch* const watch = watched_turns.get();
  if (!watch) return resume(item.handle);  // no longer
  struct turn {
    const turn_watch& watch;
    void* const begun;
    ~turn() { watch.ends(begun); }
  } const now{*watch, watch->begins(item)};
  resume(item.handle);
}

void tell_of_post(const resumption& item, bool by_io) noexcept {
  if (const turn_watch* const watch = watched_turns.get()) watch->posted(item, by_io);
}
#endif
}  // namespace coracle::detail
