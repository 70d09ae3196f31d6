// coracle/testing/simulation/simulated_disk.hpp -- the files of a simulated host, and what goes wrong with them.
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

/// How a simulated disk is. The counts are odds, one in so many; 0: never.
struct disk_faults {
  std::chrono::nanoseconds least_latency{10'000};
  std::chrono::nanoseconds most_latency{10'000'000};
  std::uint64_t capacity = std::uint64_t{1}
                           << 40;     ///< bytes in all files; beyond, writes are short, then ENOSPC
  std::uint32_t read_errors = 0;      ///< EIO
  std::uint32_t write_errors = 0;     ///< EIO
  std::uint32_t sync_errors = 0;      ///< EIO; what was to be made durable is then lost in the next crash
  std::uint32_t short_transfers = 0;  ///< reads and writes move fewer bytes than they could

  /// All of it, often enough that most runs meet some.
  [[nodiscard]] static disk_faults harsh() noexcept;
};

/// Files by name, without folders: "a/b" is a name as any other. What was written is read back at once, by whoever; but
/// only what sync() has covered, or was written with file_buffering_mode::write_through, certainly survives a crash.
/// Of the rest each write, and each 512 bytes of it, survives by chance; so does a file's name.
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

  /// From now on.
  void set_faults(const disk_faults& faults) noexcept;
  /// What the file holds now; nothing if there is none.
  [[nodiscard]] std::optional<std::string> contents(std::string_view path) const;
  /// Puts a file there that is durable.
  void put(std::string_view path, std::string_view text);

 private:
  friend class simulated_host;
  std::unique_ptr<detail::simulated::disk> its_;
};
}  // namespace coracle::testing
