// coracle/inspect/exception_trace.hpp -- the awaits through which an exception came.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/inspect/async_stacktrace.hpp>
#include <exception>

namespace coracle {
/// From now on, the awaits of each task that an exception leaves are recorded, for trace_of(); or no longer.
///
///     coracle::trace_exceptions();
///     try {
///       coracle::sync_wait(serve());
///     } catch (const std::exception& error) {
///       std::fputs(error.what(), stderr);
///       std::fputs(coracle::trace_of(std::current_exception()).to_string().c_str(), stderr);
///     }
///
/// After install_crash_handler(), the report of an uncaught exception contains them, too.
/// Threads     any. Where threads throw at the same time, one records after the other.
/// Cost        next to none while exceptions are not recorded. Otherwise some system calls for each await
///             between the task that an exception leaves first and the end of the chain: milliseconds if the
///             chain is long.
void trace_exceptions(bool records = true) noexcept;

/// Returns the awaits that led to the task that the exception left first, innermost first. Empty for an
/// exception that has left no task since trace_exceptions(), or after which 64 others have. Exceptions are
/// told apart by their addresses: one that has left no task may have the address, and so the trace, of one
/// that is over.
/// Threads     any.
/// Exceptions  none.
[[nodiscard]] async_stacktrace trace_of(const std::exception_ptr& exception) noexcept;
}  // namespace coracle
