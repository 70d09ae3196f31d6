// coracle/io/run_command.hpp -- run a program to its end, and collect what it writes.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/command.hpp>
#include <coracle/io/exit_status.hpp>
#include <cstddef>
#include <string>
#include <utility>

namespace coracle {
class io_service;

/// The output of a program, and its exit status.
struct command_result {
  explicit command_result(exit_status how) noexcept : status(how) {}

  exit_status status;
  std::string output, error;
};

namespace detail {
library_task<command_result> run_command_body(io_service& service, command what, std::string input,
                                              std::size_t most);
}  // namespace detail

/// Awaitable of a command_result: runs the program, writes `input` to it, and collects standard output and
/// standard error, at most `most` bytes each, unless `what` redirects them elsewhere than to a pipe. All
/// three run concurrently, so none of them blocks another. Without `input` the program reads /dev/null,
/// unless its input is redirected from elsewhere than a pipe.
///
///     const auto result = co_await coracle::run_command(io, coracle::command{"git", "rev-parse", "HEAD"});
///     if (result.status.is_success()) use(result.output);
///
/// It completes when the program has ended and every process that it left running has closed its output:
/// redirect the output of a daemon. An exit code other than 0 is a result, not an error.
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  stop requested before: the program is not started. During: kills it, as ~process():
///               `co_await timeout(run_command(io, what), 5s)`. With command::new_group(), also the processes
///               that it has started.
/// Exceptions    those of `process`; std::errc::message_size beyond `most`; std::bad_alloc. The program is
///               then killed.
/// Cost          as process, and a frame for each pipe.
CORACLE_CORO_WRAPPER()
inline task<command_result> run_command(io_service& service, command what, std::string input = {},
                                        std::size_t most = std::size_t{64} << 20) {
  return detail::run_command_body(service, std::move(what), std::move(input), most);
}
}  // namespace coracle
