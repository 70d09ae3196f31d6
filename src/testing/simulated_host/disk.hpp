// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/simulation/simulated_disk.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"
#include "name_tree.hpp"

namespace coracle::detail::simulated {
class disk {
 public:
  explicit disk(testing::simulation& its_simulation) : sim(its_simulation), names(its_simulation) {}

  /// `flags` as of open(2). Returns a file or a folder, or null on failure; see `error`.
  std::shared_ptr<node> open(const name_tree::base& from, std::string_view path, int flags,
                             unsigned permissions, name_tree::links how, int& error);
  void put(std::string_view path, std::string_view text);
  void crash();

  // Results are those of the system calls.
  std::int64_t read(const stored_file& file, std::uint64_t offset, void* to, std::size_t size);
  std::int64_t write(stored_file& file, std::uint64_t offset, const void* from, std::size_t size);
  int set_size(stored_file& file, std::uint64_t size);
  /// Makes the changes below `end` durable.
  int sync(stored_file& file, std::uint64_t end);
  int sync(folder& names_of, std::uint64_t end);
  /// Fills in what stat(2) and statx(2) tell.
  void describe(const node& what, struct ::stat& about) const noexcept;
  void describe(const node& what, struct ::statx& about) const noexcept;

  [[nodiscard]] bool chance(std::uint32_t one_in) { return one_in != 0 && sim.random().one_in(one_in); }
  [[nodiscard]] testing::simulation::duration latency() {
    return sim.random().between(faults.least_latency, faults.most_latency);
  }

  testing::simulation& sim;
  testing::disk_faults faults;
  name_tree names;

 private:
  [[nodiscard]] std::uint64_t used() const;
  [[nodiscard]] std::size_t moved(std::size_t possible);
  bool survive(stored_file& file);
};

/// An open file or directory: its operations take the disk's time.
class on_disk : public descriptor {
 public:
  explicit on_disk(disk& its_disk) noexcept : disk_(its_disk) {}
  /// Call when the device begins a request; try_now() ends it.
  void begin(io_request& request);
  std::int64_t fault(const io_request&) override { return -EIO; }
  void close() override {}
  void lose_power() override { dead_ = true; }
  [[nodiscard]] bool is_dead() const noexcept { return dead_; }
  [[nodiscard]] disk& its_disk() const noexcept { return disk_; }
  [[nodiscard]] virtual const node& what() const noexcept = 0;

 protected:
  disk& disk_;
  bool dead_ = false;
};

class open_file final : public on_disk {
 public:
  open_file(disk& its_disk, std::shared_ptr<stored_file> file, int flags);

  std::int64_t try_now(io_request& request) override;
  [[nodiscard]] const node& what() const noexcept override { return *file_; }
  std::int64_t read(std::uint64_t offset, void* to, std::size_t size);
  std::int64_t write(std::uint64_t offset, const void* from, std::size_t size);
  int set_size(std::uint64_t size);
  /// `type` is one of fcntl(2).
  int lock(int type);
  void close() override;
  void lose_power() override;

 private:
  void unlock() { std::erase(file_->locked_by, this); }

  const std::shared_ptr<stored_file> file_;
  const int flags_;
};
}  // namespace coracle::detail::simulated
