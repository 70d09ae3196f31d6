// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/compose/when_any.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/process.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "io_failure_of.hpp"
#include "io_system.hpp"
#include "owned_fd.hpp"
#include "spawn.hpp"
#include "system_error.hpp"

namespace coracle {
namespace {
/// The search path that the kernel and the C library use if PATH is not set.
constexpr const char* default_path = "/usr/local/bin:/bin:/usr/bin";

std::vector<std::string> candidates(const std::string& program) {
  if (program.empty() || program.find('/') != program.npos) return {program};
  const char* const variable = std::getenv("PATH");
  std::string_view folders = variable ? variable : default_path;
  std::vector<std::string> all;
  for (;;) {
    const std::size_t end = folders.find(':');
    const std::string folder{folders.substr(0, end)};
    all.push_back(folder.empty() ? program : folder + "/" + program);  // an empty entry is the working folder
    if (end == folders.npos) return all;
    folders.remove_prefix(end + 1);
  }
}

/// The text as the system takes it, which would end at a NUL.
const char* whole(const std::string& text, const std::string& program) {
  if (text.find('\0') == text.npos) return text.c_str();
  detail::throw_error(EINVAL, std::string("cannot run ") + program.c_str() + ", a text with a NUL in it");
}
/// The array that execve(2) expects, with a null pointer at the end.
std::vector<const char*> pointers_to(const std::vector<std::string>& texts, const std::string& program) {
  std::vector<const char*> all;
  for (const std::string& each : texts) all.push_back(whole(each, program));
  all.push_back(nullptr);
  return all;
}

owned_descriptor open_for(const redirection& what, const std::string& program) {
  using kind = redirection::kind;
  constexpr mode_t less_the_umask = 0666;
  const bool is_null = what.what() == kind::null;
  const std::string path = is_null ? "/dev/null" : what.path();
  int flags = O_RDWR;
  if (what.what() == kind::read_file) flags = O_RDONLY;
  if (what.what() == kind::write_file) flags = O_WRONLY | O_CREAT | O_TRUNC;
  if (what.what() == kind::append_file) flags = O_WRONLY | O_CREAT | O_APPEND;
  owned_descriptor opened{::open(whole(path, program), flags | O_CLOEXEC, less_the_umask)};
  if (!opened.is_open()) detail::throw_error(errno, "cannot open " + path + " for " + program);
  return opened;
}
}  // namespace

/// The child's ends of pipes, and its files: open until the child has them.
class process::child_ends {
 public:
  child_ends(process& its, io_service& service, const command& what)
      : its_(its), service_(service), program_(what.arguments().front()) {
    for (const auto& [number, each] : what.descriptors()) add(number, each);
    if (what.has_error_to_output()) plan_[2].source = plan_[1].source;
  }
  [[nodiscard]] std::vector<detail::child_descriptor>& plan() noexcept { return plan_; }

 private:
  void add(int number, const redirection& what) {
    switch (what.what()) {
      case redirection::kind::inherit:
        plan_.push_back({number, number, true});
        break;
      case redirection::kind::copy:
        plan_.push_back({number, what.descriptor(), false});
        break;
      case redirection::kind::pipe:
        plan_.push_back({number, open_pipe(number), false});
        break;
      default:
        plan_.push_back({number, kept_.emplace_back(open_for(what, program_)).get(), false});
    }
  }
  /// Only this process's end is nonblocking: O_NONBLOCK is a property of the open file description.
  int open_pipe(int number) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) detail::throw_error(errno, "cannot create a pipe for " + program_);
    owned_descriptor read_end{ends[0]}, write_end{ends[1]};
    const bool is_input = number == 0;
    owned_descriptor& mine = is_input ? write_end : read_end;
    kept_.push_back(std::move(is_input ? read_end : write_end));
    if (::fcntl(mine.get(), F_SETFL, O_NONBLOCK) != 0) {
      detail::throw_error(errno, "cannot create a pipe for " + program_);
    }
    auto& its = its_.pipes_[static_cast<std::size_t>(number)];
    its.emplace(service_, std::move(mine).release());
    if (is_input) its->spare_sigpipe();
    return kept_.back().get();
  }

  process& its_;
  io_service& service_;
  const std::string& program_;
  std::vector<owned_descriptor> kept_;
  std::vector<detail::child_descriptor> plan_;
};

process::process(io_service& service, const command& what)
    : has_group_(what.its_group() != command::group::inherited) {
  CORACLE_REQUIRE(&detail::io_descriptor::system_of(service) == &detail::io_system::linux_system(),
                  "a process was started for a simulated io_service, which has no processes");
  child_ends ends{*this, service, what};
  const std::string& program = what.arguments().front();
  const std::vector<std::string> programs = candidates(program);
  const std::vector<std::string> variables = what.its_environment();
  std::vector<const char*> program_texts = pointers_to(programs, program);
  program_texts.pop_back();
  const std::vector<const char*> argument_texts = pointers_to(what.arguments(), program);
  const std::vector<const char*> variable_texts = pointers_to(variables, program);
  detail::child_plan plan{
      program_texts,         argument_texts.data(),
      variable_texts.data(), what.its_folder().empty() ? nullptr : whole(what.its_folder(), program),
      ends.plan(),           what.limits(),
      what.its_group()};
  detail::spawned child = detail::spawn(plan);
  try {
    handle_ = {service, std::move(child.handle).release(), detail::io_descriptor_kind::pollable};
  } catch (...) {
    ::kill(child.id, SIGKILL);
    ::waitpid(child.id, nullptr, 0);
    throw;
  }
  id_ = child.id;
}

process::process(process&& other) noexcept
    : handle_(std::move(other.handle_)),
      id_(std::exchange(other.id_, 0)),
      has_group_(other.has_group_),
      pipes_(std::move(other.pipes_)) {}
process& process::operator=(process&& other) noexcept {
  if (this == &other) return *this;
  end();
  handle_ = std::move(other.handle_);
  id_ = std::exchange(other.id_, 0);
  has_group_ = other.has_group_;
  pipes_ = std::move(other.pipes_);
  return *this;
}

void process::signal(int number) {
  if (::syscall(SYS_pidfd_send_signal, handle_.native_handle(), number, nullptr, 0) == 0) return;
  if (errno != ESRCH) detail::throw_errno("cannot send a signal to a process");
}
void process::signal_group(int number) {
  CORACLE_REQUIRE(has_group_, "signal_group() of a process without new_group() or new_session()");
  if (!is_mine() || ::kill(-id_, number) == 0) return;
  if (errno != ESRCH) detail::throw_errno("cannot send a signal to a process group");
}

/// Returns false if other code has waited for the child: its id may then have been reused.
bool process::is_mine() const noexcept {
  siginfo_t ended{};
  const auto its = static_cast<id_t>(handle_.native_handle());
  return ::waitid(P_PIDFD, its, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Leaves the child as a zombie, so that its id is not reused.
exit_status process::its_status() const {
  CORACLE_REQUIRE(handle_.is_open(),
                  "a process was moved, and then the end of a wait() for it came: keep it in its place until "
                  "its waits have ended");
  siginfo_t ended{};
  const auto its = static_cast<id_t>(handle_.native_handle());
  if (::waitid(P_PIDFD, its, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    detail::throw_errno("cannot tell how a process has ended");
  }
  return ended.si_code == CLD_EXITED ? exit_status::exited_with(ended.si_status)
                                     : exit_status::killed_by(ended.si_status);
}

void process::end() noexcept {
  if (!handle_.is_open()) return;
  if (is_mine()) {
    ::syscall(SYS_pidfd_send_signal, handle_.native_handle(), SIGKILL, nullptr, 0);
    if (has_group_) ::kill(-id_, SIGKILL);
  }
  siginfo_t ended{};
  const auto its = static_cast<id_t>(handle_.native_handle());
  while (::waitid(P_PIDFD, its, &ended, WEXITED) != 0 && errno == EINTR) {
  }
  handle_.close();
}

detail::library_task<exit_status> process::terminate_body(std::chrono::nanoseconds patience) {
  ask_to_end(SIGTERM);
  const auto first = co_await when_any(wait(), sleep_for(patience));
  if (const exit_status* in_time = std::get_if<0>(&first)) co_return *in_time;
  ask_to_end(SIGKILL);
  const exit_status killed = co_await wait();
  co_return killed;
}

process_wait_operation::process_wait_operation(process& awaited, stop_token token) noexcept
    : io_operation(awaited.handle_, detail::io_opcode::wait_readable, static_cast<void*>(nullptr), 0,
                   std::move(token)),
      process_(awaited) {}
std::error_code process_wait_operation::await_error() noexcept {
  if (const std::error_code failed = io_operation::await_error()) return failed;
  try {
    static_cast<void>(process_.its_status());
    return {};
  } catch (const std::system_error& failure) {
    return failure.code();
  }
}
exit_status process_wait_operation::await_resume() {
  take_result("cannot wait for a process");
  return process_.its_status();
}
}  // namespace coracle

namespace coracle::detail {
template std::exception_ptr io_failure_of(process_wait_operation&) noexcept;
}  // namespace coracle::detail
