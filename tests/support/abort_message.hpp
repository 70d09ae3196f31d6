// tests/support/abort_message.hpp -- what a broken precondition prints before it ends the program.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace coracle_test {
/// Runs `body` in a child process. Gives what the child wrote to stderr if SIGABRT ended it, else how it
/// ended.
inline std::string abort_message(void (*body)()) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return "no child";
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string written;
  char buffer[256];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    written.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return written;
  return "not aborted, wait status " + std::to_string(status);
}
}  // namespace coracle_test
