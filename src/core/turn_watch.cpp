// src/core/turn_watch.cpp -- turns and posts while something watches them, and the USDT probes.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/stoppable_hop.hpp>
#include <coracle/core/executor.hpp>

#if defined(CORACLE_ENABLE_USDT)
#include <sys/sdt.h>
#define CORACLE_PROBE(name, first, second) DTRACE_PROBE2(coracle, name, first, second)
#else
#define CORACLE_PROBE(name, first, second) static_cast<void>(0)
#endif

namespace coracle::detail {
#if defined(CORACLE_MODEL)
void run_watched_turn(resumption& item) { resume(item.handle); }
void report_post(const resumption&, bool) noexcept {}
#else
namespace {
#if defined(CORACLE_ENABLE_USDT)
// Every turn comes here, so that the probes need no other place.
constexpr turn_watch no_one{[](const resumption&) noexcept -> void* { return nullptr; },
                            [](void*) noexcept {}, [](const resumption&, bool) noexcept {}};
constexpr const turn_watch* by_default = &no_one;
#else
constexpr const turn_watch* by_default = nullptr;
#endif

/// Returns the frame that `item` resumes: that of the coroutine, for one that hops.
[[maybe_unused]] void* frame_for_probes(const resumption& item) noexcept {
  void* const hops = hop_arrival::behind(item);
  return hops ? hops : std::coroutine_handle<>(item.handle).address();
}
}  // namespace

constinit turn_watch_word watched_turns{by_default};

void watch_turns(const turn_watch* watch) noexcept { watched_turns.set(watch ? watch : by_default); }

void run_watched_turn(resumption& item) {
  const turn_watch* const watch = watched_turns.get();
  if (!watch) return resume(item.handle);  // no longer
  struct turn {
    const turn_watch& watch;
    void* const frame;
    void* const begun;
    ~turn() {
      watch.ends(begun);
      CORACLE_PROBE(turn__end, frame, 0);
    }
  };
  const std::coroutine_handle<> resumed = item.handle;
  void* const frame = frame_for_probes(item);
  CORACLE_PROBE(turn__begin, frame, *static_cast<void**>(frame));
  const turn now{*watch, frame, watch->begins(item)};
  resume(resumed);
}

void report_post(const resumption& item, bool by_io) noexcept {
  CORACLE_PROBE(post, frame_for_probes(item), by_io);
  if (const turn_watch* const watch = watched_turns.get()) watch->posted(item, by_io);
}
#endif
}  // namespace coracle::detail
