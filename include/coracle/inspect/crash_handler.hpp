// coracle/inspect/crash_handler.hpp -- print the awaits of the coroutine that crashes.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle {
/// After this call, a crash prints to stderr the machine's stack and the stack of awaits of the coroutine
/// that runs on the crashing thread. The program then ends as it would have, by the default action of the
/// signal, which may write a core.
///
///     int main() { coracle::install_crash_handler(); ... }
///
/// It handles SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT and std::terminate(), for which it also prints the
/// exception and, after trace_exceptions(), the awaits that it came through. Names come from the symbol table
/// of the program; `| c++filt` demangles the few that it leaves mangled, and addr2line prints the lines of
/// the values in parentheses. The calling thread gets an alternate signal stack, so that a stack overflow is
/// reported, too; call it once on every other thread that needs this.
/// Threads     any.
/// Exceptions  none. If the system refuses a handler, nothing changes for that signal.
/// Cost        nothing until a crash; the handler allocates nothing and takes no lock, except for the awaits
///             of an exception.
void install_crash_handler() noexcept;
}  // namespace coracle
