// tests/support/wait_until_asleep.hpp -- waits until another thread sleeps, instead of guessing a time.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

namespace coracle_test {
/// Returns true if thread `id` of this process sleeps in the kernel, as in a blocking system call.
inline bool is_asleep(pid_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string fields;
  std::getline(file, fields);
  // The state follows the name in parentheses.
  const std::size_t name_end = fields.rfind(") ");
  return name_end != std::string::npos && fields.compare(name_end + 2, 1, "S") == 0;
}
/// `id` is the result of gettid() on that thread; 0 until then.
inline void wait_until_asleep(const std::atomic<pid_t>& id) {
  while (id == 0 || !is_asleep(id)) std::this_thread::yield();
}
}  // namespace coracle_test
