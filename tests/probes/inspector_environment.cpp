// tests/probes/inspector_environment.cpp -- an inspector in a program that only the environment asks for one.
// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <coracle/inspect/inspector.hpp>
#include <cstdlib>
#include <string>

#include "../support/expect.hpp"
#include "../support/raw_client.hpp"

namespace {
using coracle_test::answer_to, coracle_test::expect, coracle_test::get, coracle_test::unix_client;

/// This program once more, with CORACLE_INSPECT set.
struct inspected_program {
  explicit inspected_program(const std::string& where) {
    int input[2], errors[2];
    if (::pipe(input) != 0 || ::pipe(errors) != 0) std::abort();
    child = ::fork();
    if (child == 0) {
      ::dup2(input[0], STDIN_FILENO);
      ::dup2(errors[1], STDERR_FILENO);
      ::close(input[1]);
      ::close(errors[0]);
      ::setenv("CORACLE_INSPECT", where.c_str(), 1);
      ::execl("/proc/self/exe", "probe_inspector_environment", "idle", nullptr);
      ::_exit(1);
    }
    ::close(input[0]);
    ::close(errors[1]);
    end_of_input = input[1];
    stderr_of_it = errors[0];
  }
  inspected_program(const inspected_program&) = delete;
  ~inspected_program() { ::close(stderr_of_it); }
  /// Returns all that it has printed.
  std::string end() {
    ::close(end_of_input);
    std::string text;
    for (char next; ::read(stderr_of_it, &next, 1) == 1;) text += next;
    int status = -1;
    ::waitpid(child, &status, 0);
    expect(status == 0, "it ends well");
    return text;
  }
  std::string line() const {
    std::string text;
    for (char next; ::read(stderr_of_it, &next, 1) == 1 && next != '\n';) text += next;
    return text;
  }
  pid_t child = 0;
  int end_of_input = -1, stderr_of_it = -1;
};

void by_environment() {
  const std::string path = "/tmp/coracle_inspector_" + std::to_string(::getpid());
  inspected_program inspected("unix:" + path);
  expect(inspected.line() == "coracle: inspect this program at unix:" + path, "it says where");
  expect(answer_to<unix_client>(path, get("/coroutines")).find(R"("schema":1)") != std::string::npos,
         "it answers");
  expect(inspected.end().empty() && ::access(path.c_str(), F_OK) != 0, "it ends with the program");
  inspected_program wrong("nowhere");
  const std::string said = wrong.end();
  expect(
      said.starts_with("coracle::inspector cannot listen on 'nowhere'") && said.find('\n') + 1 == said.size(),
      "one line");
}
}  // namespace

int main(int argc, char**) {
  if (argc > 1) {  // as inspected_program
    char next;
    while (::read(STDIN_FILENO, &next, 1) > 0) {
    }
    return 0;
  }
  by_environment();
  return coracle_test::exit_status("inspector: everything as expected");
}
