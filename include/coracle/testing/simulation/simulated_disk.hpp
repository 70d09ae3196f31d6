// coracle/testing/simulation/simulated_disk.hpp -- the files of a simulated host, and their faults.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::detail::simulated {
class disk;
}  // namespace coracle::detail::simulated

namespace coracle::testing {
class simulation;

/// The properties of a simulated disk. Each count n means one in n; 0: never.
struct disk_faults {
  std::chrono::nanoseconds least_latency{10'000};
  std::chrono::nanoseconds most_latency{10'000'000};
  std::uint64_t capacity = std::uint64_t{1}
                           << 40;     ///< bytes in all files; beyond, writes are short, then ENOSPC
  std::uint32_t read_errors = 0;      ///< EIO
  std::uint32_t write_errors = 0;     ///< EIO
  std::uint32_t sync_errors = 0;      ///< EIO; the data is then lost in the next crash
  std::uint32_t short_transfers = 0;  ///< reads and writes move fewer bytes than they could

  /// All faults, often enough that most runs encounter some.
  [[nodiscard]] static disk_faults harsh() noexcept;
};

/// Files, directories and links by path; the current directory is the root. Written data is visible to all
/// readers immediately, but only data covered by sync(), or written with file_buffering_mode::write_through,
/// is certain to survive a crash. Each other write, and each 512 bytes of it, survives or is lost at random.
/// So is a new name, unless it or its directory was synced, and a directory is lost with all that is in it.
/// Of the renames, hard links and removals that no sync() of their directories covers, a random number
/// survive, the oldest first.
///
/// Permissions are kept, but not enforced; the umask is 022. All times of a file are that of its last change,
/// by the simulated clock.
///
/// A host has one: see simulated_host::disk().
///
/// Threads  that of the simulation.
class simulated_disk {
 public:
  explicit simulated_disk(simulation& sim);
  simulated_disk(const simulated_disk&) = delete;
  simulated_disk& operator=(const simulated_disk&) = delete;
  ~simulated_disk();

  /// Applies from now on.
  void set_faults(const disk_faults& faults) noexcept;
  /// Returns the current contents of the file; nothing if it does not exist.
  [[nodiscard]] std::optional<std::string> contents(std::string_view path) const;
  /// Creates or replaces a file durably, with the directories that lead to it.
  void put(std::string_view path, std::string_view text);
  /// Creates a directory durably, with those that lead to it, where they do not exist.
  void create_directories(std::string_view path);

 private:
  friend class simulated_host;
  std::unique_ptr<detail::simulated::disk> its_;
};
}  // namespace coracle::testing
