// SPDX-License-Identifier: MIT
// The threads and the open descriptors of the process, as the system lists them.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace coracle::detail {
struct process_thread {
  int id = 0;
  std::string name;
  std::chrono::nanoseconds processor_time{};
};
[[nodiscard]] std::vector<process_thread> list_threads();

/// Returns what each open descriptor refers to, as `/var/log/server`, `socket:[4711]`,
/// `anon_inode:[eventfd]`.
[[nodiscard]] std::map<int, std::string> list_descriptors();
/// Returns its kind: `file`, `socket`, `pipe`, `eventfd`, ...
[[nodiscard]] std::string kind_of_descriptor(const std::string& target);
}  // namespace coracle::detail
