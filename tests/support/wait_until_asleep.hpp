// tests/support/wait_until_asleep.hpp -- waits until another thread sleeps, instead of for a time in which it may.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

namespace coracle_test {
/// Whether the kernel has thread `id` of this process asleep, as in a system call that waits.
inline bool is_asleep(pid_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string fields;
  std::getline(file, fields);
  // The state follows the name, which stands in parentheses.
  const std::size_t name_end = fields.rfind(") ");
  return name_end != std::string::npos && fields.compare(name_end + 2, 1, "S") == 0;
}
/// `id` is what gettid() gives there; 0 until then.
inline void wait_until_asleep(const std::atomic<pid_t>& id) {
  while (id == 0 || !is_asleep(id)) std::this_thread::yield();
}
}  // namespace coracle_test
