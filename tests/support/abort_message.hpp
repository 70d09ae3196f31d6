// tests/support/abort_message.hpp -- the message of a violated precondition.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace coracle_test {
/// A child process that runs `body`, and its stderr.
class child_process {
 public:
  explicit child_process(void (*body)()) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    std::fflush(nullptr);
    id_ = ::fork();
    if (id_ < 0) std::abort();
    if (id_ == 0) {
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      std::signal(SIGABRT, SIG_DFL);
      ::dup2(ends[1], STDERR_FILENO);
      ::close(ends[0]);
      body();
      ::_exit(0);
    }
    ::close(ends[1]);
    stderr_ = ends[0];
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// Returns its output up to `last`, or to its end.
  std::string read_until(char last) {
    std::string written;
    for (char next; ::read(stderr_, &next, 1) == 1;) {
      written += next;
      if (next == last) break;
    }
    return written;
  }
  /// Call once. Returns the status from waitpid().
  int wait() {
    ::close(stderr_);
    int status = 0;
    ::waitpid(id_, &status, 0);
    return status;
  }
  [[nodiscard]] pid_t id() const { return id_; }

 private:
  pid_t id_ = -1;
  int stderr_ = -1;
};

/// Runs `body` in a child process. Returns its stderr if SIGABRT ended it, otherwise how it ended.
inline std::string abort_message(void (*body)()) {
  child_process child{body};
  const std::string written = child.read_until('\0');
  const int status = child.wait();
  // An emulator says that it has caught the signal.
  const std::size_t of_qemu = written.find("qemu: ");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return written.substr(0, of_qemu);
  return "not aborted, wait status " + std::to_string(status);
}
/// Runs `body` in a child process, ends that after the first line on stderr, and returns the line.
inline std::string first_message(void (*body)()) {
  child_process child{body};
  const std::string written = child.read_until('\n');
  ::kill(child.id(), SIGKILL);
  child.wait();
  return written;
}
}  // namespace coracle_test
