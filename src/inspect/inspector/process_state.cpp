// SPDX-License-Identifier: MIT
#include "process_state.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace coracle::detail {
namespace {
struct closes_folder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};
/// Calls `visit(number, folder)` for each entry of a folder that is a number.
template <class Visit>
void for_each_number(const char* path, Visit visit) {
  const std::unique_ptr<DIR, closes_folder> folder(::opendir(path));
  if (!folder) return;
  while (const dirent* const entry = ::readdir(folder.get())) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
      visit(std::atoi(entry->d_name), ::dirfd(folder.get()));
  }
}

std::string name_of_thread(int id, int tasks) {
  const int file = ::openat(tasks, (std::to_string(id) + "/comm").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[64];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  return size > 1 ? std::string(text, static_cast<std::size_t>(size - 1)) : std::string();  // a line
}
}  // namespace

std::vector<process_thread> list_threads() {
  std::vector<process_thread> found;
  for_each_number("/proc/self/task", [&](int id, int tasks) {
    // Linux: the clock of a thread of this process, as pthread_getcpuclockid() makes it.
    constexpr int per_thread = 4, runs = 2;
    const clockid_t clock = ~id * 8 | per_thread | runs;
    timespec used{};
    if (::clock_gettime(clock, &used) != 0) return;  // it has ended
    found.push_back({id, name_of_thread(id, tasks),
                     std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec}});
  });
  return found;
}

std::map<int, std::string> list_descriptors() {
  std::map<int, std::string> found;
  for_each_number("/proc/self/fd", [&](int number, int folder) {
    if (number == folder) return;
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(folder, std::to_string(number).c_str(), target, sizeof target);
    if (size > 0) found[number].assign(target, static_cast<std::size_t>(size));
  });
  return found;
}

std::string kind_of_descriptor(const std::string& target) {
  if (target[0] == '/') return target.starts_with("/dev/") ? "device" : "file";
  const std::size_t colon = target.find(':');
  if (target.substr(0, colon) != "anon_inode") return target.substr(0, colon);  // socket:[1], pipe:[2]
  std::string kind = target.substr(colon + 1);                                  // [eventpoll], inotify
  if (kind.starts_with('[')) kind = kind.substr(1, kind.size() - 2);
  return kind;
}
}  // namespace coracle::detail
