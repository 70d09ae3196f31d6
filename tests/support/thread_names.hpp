// tests/support/thread_names.hpp -- the names of the threads of this process.
// SPDX-License-Identifier: MIT
#pragma once
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace coracle_test {
inline std::string name_of_this_thread() {
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return name;
}
inline bool has_thread_named(std::string_view name) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string its_name;
    std::getline(std::ifstream(thread.path() / "comm"), its_name);
    if (its_name == name) return true;
  }
  return false;
}
}  // namespace coracle_test
