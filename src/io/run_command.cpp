// SPDX-License-Identifier: MIT
#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/io/io_result.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/run_command.hpp>
#include <string>
#include <string_view>

#include "system_error.hpp"

namespace coracle {
namespace {
task<> feed(stream_descriptor* to, std::string_view text) {
  if (!to) co_return;
  while (!text.empty()) {
    const auto written =
        co_await detail::unless_error(std::errc::broken_pipe, to->write_some(std::as_bytes(std::span{text})));
    if (!written) break;  // a program need not read its input
    text.remove_prefix(*written);
  }
  to->close();
}
task<std::string> collect(stream_descriptor* from, std::size_t most, const std::string& program) {
  std::string all;
  std::size_t size = 0;
  while (from) {
    constexpr std::size_t least_room = 4096;
    if (all.size() - size < least_room) all.resize(2 * size + least_room);
    const std::size_t more = co_await from->read_some(std::as_writable_bytes(std::span{all}.subspan(size)));
    if (more == 0) break;
    size += more;
    if (size > most) {
      detail::throw_error(EMSGSIZE, program + " has written more than " + std::to_string(most) + " bytes");
    }
  }
  all.resize(size);
  co_return all;
}
}  // namespace

detail::library_task<command_result> detail::run_command_body(io_service& service, command what,
                                                              std::string input, std::size_t most) {
  co_await this_task::throw_if_stopped();
  const auto collects = [&what](std::size_t number) {
    const redirection::kind given = what.descriptors()[number].second.what();
    return given == redirection::kind::inherit || given == redirection::kind::pipe;
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
  const std::string& program = what.arguments().front();
  auto [fed, output, error] = co_await when_all(feed(to_feed, input), collect(from_output, most, program),
                                                collect(from_error, most, program));
  static_cast<void>(fed);
  const exit_status ended = co_await child.wait();
  command_result result{ended};
  result.output = std::move(output);
  result.error = std::move(error);
  co_return result;
}
}  // namespace coracle
