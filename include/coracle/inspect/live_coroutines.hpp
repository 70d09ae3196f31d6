// coracle/inspect/live_coroutines.hpp -- every coroutine of the program, and what each waits for.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace coracle {
/// Returns every coroutine that has not ended, as trees: below each those that it awaits.
///
///     std::fputs(coracle::live_coroutines().c_str(), stderr);
///
///     4 coroutines:
///     sync_wait()
///       bank  (server+0x3a10)
///         save_up  (server+0x3c40)
///           transfer  (server+0x3f00)  waits to lock async_mutex savings; transfer has its address
///         ...
///
/// A checked build prints the same when sync_wait() has blocked a scheduler's thread for a second, and
/// testing::simulation and testing::virtual_time_loop print it when they detect a deadlock. All writable
/// memory is searched for frames, and the symbol table of the program names them: nothing is known of a
/// stripped program. Of more than 10,000 coroutines the text only says how many there are of each function.
/// coracle-ps shows more, with lines (docs/debugging.md).
/// Threads     any; but of coroutines that other threads run, start or end meanwhile it may show too much or
///             too little. One search at a time; other callers wait.
/// Exceptions  std::bad_alloc.
/// Cost        about half a second for each gigabyte of memory. Returns a note instead under a sanitizer,
///             whose own memory is too large.
[[nodiscard]] std::string live_coroutines();

/// Prints them to stderr at the end of the program, if there are any: nobody will resume these. Coroutines
/// that belong to objects of static storage duration are among them if those are constructed before this
/// call.
///
///     int main() { coracle::report_live_coroutines_at_exit(); ... }
///
/// Threads     any; only the first call has an effect.
void report_live_coroutines_at_exit() noexcept;
}  // namespace coracle
