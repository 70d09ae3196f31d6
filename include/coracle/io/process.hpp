// coracle/io/process.hpp -- start a program, talk to it, and wait until it has ended.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <coracle/base/check.hpp>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/command.hpp>
#include <coracle/io/detail/io_operation.hpp>
#include <coracle/io/exit_status.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <optional>

namespace coracle {
class process;

/// Returns the exit_status.
class [[nodiscard("this waits only when it is awaited")]] process_wait_operation
    : public detail::io_operation {
 public:
  process_wait_operation(process& awaited, stop_token token) noexcept;
  exit_status await_resume();
  [[nodiscard]] std::error_code await_error() noexcept;

 private:
  process& process_;
};

/// A running program: a child process. Move-only.
///
///     coracle::command unzip{"gzip", "-dc"};
///     coracle::process child{io, unzip.input(redirection::pipe()).output(redirection::pipe())};
///     co_await coracle::when_all(feed(child.input()), drain(child.output()));
///     const coracle::exit_status status = co_await child.wait();
///
/// Prefer run_command() to run a program to its end and collect its output.
///
/// Lifetime      a child does not outlive this object: if it is still running, the destructor kills it
///               (SIGKILL), and waits until the kernel has ended it. If it was given a process group of its
///               own, the destructor also kills what runs in that group, even after the child's own end. A
///               stopped or timed out `co_await child.wait()` therefore leaves it running until this object
///               is destroyed: `co_await timeout(child.wait(), 5s)`. Use terminate() first for an orderly
///               end.
/// Output        the output ends when no process has it open any more: also those that the child has started
///               and left running. signal_group(SIGKILL) after wait() ends those.
/// Process id    not reused for another process while this object exists, even after the child's end; signals
///               reach only this child.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service.
/// Cancellation  ends the wait immediately; the child process continues.
/// Exceptions    the constructor: std::system_error with the error of execve(2) in the child, or of another
///               step before the program began, and with std::errc::invalid_argument for a text of the
///               command with a NUL in it; std::bad_alloc. wait(): std::system_error ECHILD if the program
///               ignores SIGCHLD, or waits for any child elsewhere, as the status is then lost.
///               operation_cancelled.
/// Threads       starting: any thread, at any time; children that other threads start do not inherit its
///               descriptors. wait() and signal(): any thread, at any time, also several at once; each wait
///               gets the status. The io_service must outlive it.
/// Cost          the thread blocks until the program has begun, or failed to: some 100 us, whatever the size
///               of this process. One descriptor, and one for each pipe.
class process {
 public:
  /// Requires: `service` is not simulated.
  process(io_service& service, const command& what);
  process(process&& other) noexcept;
  process& operator=(process&& other) noexcept;
  /// Kills the child and waits for its end, as described above.
  ~process() { end(); }

  /// Returns 0 if this was moved from.
  [[nodiscard]] int id() const noexcept { return id_; }

  // This process's end of a pipe: write to input(), read from output() and error(). Requires: redirected to
  // pipe().

  /// If the child has closed its end or ended, writing fails with std::errc::broken_pipe and raises no
  /// SIGPIPE. Close the pipe to signal the end of input to the child.
  [[nodiscard]] stream_descriptor& input() noexcept { return pipe(0); }
  [[nodiscard]] stream_descriptor& output() noexcept { return pipe(1); }
  [[nodiscard]] stream_descriptor& error() noexcept { return pipe(2); }

  /// Awaitable of the exit_status; completes at once if the child has ended. Requires: this is not moved
  /// meanwhile.
  process_wait_operation wait(stop_token token = {}) noexcept { return {*this, std::move(token)}; }
  /// Sends a signal; no effect if the process has ended. Throws std::system_error.
  void signal(int number);
  /// Sends a signal to the child's process group, even after its own end. Requires: command::new_group() or
  /// new_session().
  void signal_group(int number);
  /// Awaitable of the exit_status. Sends SIGTERM, to the child's own group if it has one, and SIGKILL if it
  /// has not ended after `patience`. If this is cancelled, the child may or may not be running.
  CORACLE_CORO_WRAPPER()
  task<exit_status> terminate(std::chrono::nanoseconds patience) { return terminate_body(patience); }

 private:
  friend process_wait_operation;
  class child_ends;
  stream_descriptor& pipe(int number) noexcept {
    auto& its = pipes_[static_cast<std::size_t>(number)];
    CORACLE_REQUIRE(its, "input(), output() or error() of a process that was not redirected to a pipe()");
    return *its;
  }
  [[nodiscard]] bool is_mine() const noexcept;
  [[nodiscard]] exit_status its_status() const;
  void ask_to_end(int signal_number) { has_group_ ? signal_group(signal_number) : signal(signal_number); }
  void end() noexcept;
  detail::library_task<exit_status> terminate_body(std::chrono::nanoseconds patience);

  detail::io_descriptor handle_;  // a pidfd
  int id_ = 0;
  bool has_group_ = false;
  std::array<std::optional<stream_descriptor>, 3> pipes_;
};

}  // namespace coracle
