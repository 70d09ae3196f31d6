// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/simulation/simulated_disk.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"

namespace coracle::detail::simulated {
/// A file: its current contents, and what would survive a power loss.
struct stored_file {
  /// A change since the last sync, in order.
  struct change {
    std::uint64_t number;
    std::uint64_t offset;  // the new size, if `is_size`
    std::string bytes;
    bool is_size;
  };
  std::string now, durable;
  bool name_is_durable = false;
  std::vector<change> changes;
  std::vector<const void*> locked_by;  // opened files, each once
  bool is_locked_exclusively = false;  // by the only one of them
};

/// A file was renamed, or removed if `to` is empty. Until its directory is synced, a power loss may undo it.
struct name_change {
  std::uint64_t number;
  std::string from, to;
  std::shared_ptr<stored_file> file, replaced;
};

class disk {
 public:
  explicit disk(testing::simulation& its_simulation) : sim(its_simulation) {}

  /// `flags` as of open(2). Returns null on failure; see `error`.
  std::shared_ptr<stored_file> open(const std::string& path, int flags, int& error);
  [[nodiscard]] const stored_file* find(std::string_view path) const;
  void put(std::string_view path, std::string_view text);
  void crash();

  // Results are those of the system calls.
  std::int64_t read(const stored_file& file, std::uint64_t offset, void* to, std::size_t size);
  std::int64_t write(stored_file& file, std::uint64_t offset, const void* from, std::size_t size);
  int set_size(stored_file& file, std::uint64_t size);
  /// Makes the changes below `end` durable.
  int sync(stored_file& file, std::uint64_t end);
  int rename(const std::string& from, const std::string& to);
  int remove(const std::string& path);
  [[nodiscard]] bool has_directory(const std::string& path) const;
  /// Makes the name changes below `end` durable that are in a directory: all names that begin with `prefix`.
  int sync_names(const std::string& prefix, std::uint64_t end);
  /// The number of the next change.
  [[nodiscard]] std::uint64_t next_change() const noexcept { return next_change_; }

  [[nodiscard]] bool chance(std::uint32_t one_in) { return one_in != 0 && sim.random().one_in(one_in); }
  [[nodiscard]] testing::simulation::duration latency() {
    return sim.random().between(faults.least_latency, faults.most_latency);
  }

  testing::simulation& sim;
  testing::disk_faults faults;

 private:
  [[nodiscard]] std::uint64_t used() const noexcept;
  [[nodiscard]] std::size_t moved(std::size_t possible);
  bool survive(stored_file& file);
  void undo(const name_change& what);

  std::map<std::string, std::shared_ptr<stored_file>, std::less<>> files_;
  std::vector<name_change> name_changes_;  // not durable yet, in order
  std::uint64_t next_change_ = 0;
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
  [[nodiscard]] disk& its_disk() const noexcept { return disk_; }

 protected:
  disk& disk_;
  bool dead_ = false;
};

class open_file final : public on_disk {
 public:
  open_file(disk& its_disk, std::shared_ptr<stored_file> file, int flags)
      : on_disk(its_disk), file_(std::move(file)), flags_(flags) {}

  std::int64_t try_now(io_request& request) override;
  [[nodiscard]] std::uint64_t size() const noexcept { return file_->now.size(); }
  int set_size(std::uint64_t size);
  /// `type` is one of fcntl(2).
  int lock(int type);
  void close() override { unlock(); }
  void lose_power() override {
    unlock();
    on_disk::lose_power();
  }

 private:
  void unlock() { std::erase(file_->locked_by, this); }
  [[nodiscard]] std::int64_t carry_out(io_request& request);

  const std::shared_ptr<stored_file> file_;
  const int flags_;
};
}  // namespace coracle::detail::simulated
