// coracle/io/run_command.hpp -- run a program to its end, and collect what it writes.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/io/process.hpp>
#include <string>
#include <string_view>
#include <system_error>
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
inline task<> feed(stream_descriptor* to, std::string_view text) {
  if (!to) co_return;
  while (!text.empty()) {
    const auto written =
        co_await unless_error(std::errc::broken_pipe, to->write_some(std::as_bytes(std::span{text})));
    if (!written) break;  // a program need not read its input
    text.remove_prefix(*written);
  }
  to->close();
}
inline task<std::string> collect(stream_descriptor* from, std::size_t most) {
  std::string all;
  std::size_t size = 0;
  while (from) {
    constexpr std::size_t least_room = 4096;
    if (all.size() - size < least_room) all.resize(2 * size + least_room);
    const std::size_t more = co_await from->read_some(std::as_writable_bytes(std::span{all}.subspan(size)));
    if (more == 0) break;
    size += more;
    if (size > most) {
      CORACLE_THROW(
          std::system_error(EMSGSIZE, std::system_category(), "a program has written more than is allowed"),
          "a program has written more to run_command() than is allowed");
    }
  }
  all.resize(size);
  co_return all;
}
}  // namespace detail

/// Awaitable of a command_result: runs the program, writes `input` to it, and collects standard output and
/// standard error, at most `most` bytes each, unless `what` redirects them. All three run concurrently, so
/// none of them blocks another. Without `input` the program reads /dev/null, unless its input is redirected.
///
///     const auto result = co_await coracle::run_command(io, coracle::command{"git", "rev-parse", "HEAD"});
///     if (result.status.is_success()) use(result.output);
///
/// It completes when the program has ended and every process that it left running has closed its output:
/// redirect the output of a daemon. An exit code other than 0 is a result, not an error.
///
/// Resumes on    the executor on which it was awaited.
/// Cancellation  kills the program, as ~process(): `co_await timeout(run_command(io, what), 5s)`. With
///               command::new_group(), also the processes that it has started.
/// Exceptions    those of `process`; std::errc::message_size beyond `most`; std::bad_alloc. The program is
///               then killed.
/// Cost          as process, and a frame for each pipe.
[[nodiscard("nothing is run until this is awaited")]] inline task<command_result> run_command(
    io_service& service, command what, std::string input = {}, std::size_t most = std::size_t{64} << 20) {
  const auto collects = [&what](std::size_t number) {
    return what.descriptors()[number].second.what() == redirection::kind::inherit;
  };
  const bool has_output = collects(1), has_error = collects(2) && !what.has_error_to_output();
  const bool has_input = !input.empty();
  if (has_input || collects(0)) what.input(has_input ? redirection::pipe() : redirection::null());
  if (has_output) what.output(redirection::pipe());
  if (has_error) what.error(redirection::pipe());
  process child{service, what};
  stream_descriptor* const to_feed = has_input ? &child.input() : nullptr;
  stream_descriptor* const from_output = has_output ? &child.output() : nullptr;
  stream_descriptor* const from_error = has_error ? &child.error() : nullptr;
  auto [fed, output, error] = co_await when_all(
      detail::feed(to_feed, input), detail::collect(from_output, most), detail::collect(from_error, most));
  static_cast<void>(fed);
  const exit_status ended = co_await child.wait();
  command_result result{ended};
  result.output = std::move(output);
  result.error = std::move(error);
  co_return result;
}
}  // namespace coracle
