// tour/run_program.cpp -- runs a program that was built with the tour, and reads what it prints.
// SPDX-License-Identifier: MIT
#include "run_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace tour {
namespace {
void require(int error, const std::string& what) {
  if (error) throw std::system_error(error, std::generic_category(), what);
}

/// Standard output goes to `to`, and nothing else of the tour's is inherited.
pid_t start(std::string path, int to) {
  posix_spawn_file_actions_t actions;
  require(::posix_spawn_file_actions_init(&actions), path);
  ::posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  std::array<char*, 2> arguments{path.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  require(error, path);
  return child;
}

std::string read_to_end(int from) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = ::read(from, buffer.data(), buffer.size());
    if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) return text;
  }
}
}  // namespace

std::string output_of(const std::string& name) {
  const std::string path = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
  std::array<int, 2> ends{};
  require(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "a pipe");
  pid_t child = 0;
  try {
    child = start(path, ends[1]);
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
  std::string text = read_to_end(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error(path + " has failed");
  return text;
}
}  // namespace tour
