// coracle/inspect/crash_handler.hpp -- print the awaits of the coroutine that crashes.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle {
/// From now on, a crash prints the stack of awaits of the coroutine that runs on the thread beside the machine's stack, on
/// stderr. Then the program ends as it would have: by the signal's default action, which may write a core.
///
///     int main() { coracle::install_crash_handler(); ... }
///
/// It handles SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT and std::terminate(), which also prints the exception. Names come from
/// the symbol table of the program; `| c++filt` shows the few that it leaves mangled, and addr2line prints the line of what
/// stands in brackets. The calling thread gets a stack for signals of its own, so that an overflow of its stack is reported,
/// too; call it once on each other thread of which that matters.
/// Threads     any.
/// Exceptions  none. Where the system refuses a handler, nothing changes for that signal.
/// Cost        nothing until a crash, which allocates nothing and takes no lock.
void install_crash_handler() noexcept;
}  // namespace coracle
