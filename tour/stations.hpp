// tour/stations.hpp -- the stations of the tour, in order.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <filesystem>
#include <string_view>

#include "report.hpp"

namespace tour {
struct settings {
  std::filesystem::path tree = "/usr/include";  ///< what the last station reads
  bool interactive = false;                     ///< a progress bar is welcome
  std::size_t width = 0;                        ///< columns of the screen
};

void show_frame(section& page, const settings& given);
void show_tasks(section& page, const settings& given);
void show_sync(section& page, const settings& given);
void show_context(section& page, const settings& given);
void show_generators(section& page, const settings& given);
void show_memory(section& page, const settings& given);
void show_scope(section& page, const settings& given);
void show_cancellation(section& page, const settings& given);
void show_channels(section& page, const settings& given);
void show_io(section& page, const settings& given);
void show_seed(section& page, const settings& given);
void show_deadlock(section& page, const settings& given);
void show_interleavings(section& page, const settings& given);
void show_index(section& page, const settings& given);

struct station {
  std::string_view name;
  std::string_view title;
  void (*show)(section&, const settings&);
};
inline constexpr auto stations = std::to_array<station>({
    {"frame", "the life of a coroutine frame", &show_frame},
    {"tasks", "three ways to await, side by side", &show_tasks},
    {"sync", "events and mutexes that suspend instead of blocking", &show_sync},
    {"context", "who runs what", &show_context},
    {"generators", "sequences on demand, and coroutines that stop early", &show_generators},
    {"memory", "where frames live", &show_memory},
    {"scope", "children that are joined, and errors that are not lost", &show_scope},
    {"cancellation", "a stop request that loses nothing", &show_cancellation},
    {"channels", "backpressure, and a select that takes exactly one", &show_channels},
    {"io", "sockets and files on one thread", &show_io},
    {"seed", "a seed that breaks a program, and its replay", &show_seed},
    {"deadlock", "two coroutines that wait for each other, seen in memory", &show_deadlock},
    {"interleavings", "a weakened memory order, and what kills it", &show_interleavings},
    {"index", "real work on all threads", &show_index},
});
}  // namespace tour
