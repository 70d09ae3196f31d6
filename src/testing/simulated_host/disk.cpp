// SPDX-License-Identifier: MIT
#include "disk.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "parts.hpp"

namespace coracle::detail::simulated {
namespace {
/// The unit that a device writes atomically.
constexpr std::size_t sector = 512;

void carry_over(std::string& to, const stored_file::change& what) {
  if (what.is_size) return to.resize(what.offset);
  if (to.size() < what.offset + what.bytes.size()) to.resize(what.offset + what.bytes.size());
  to.replace(what.offset, what.bytes.size(), what.bytes);
}
bool can_read(int flags) noexcept { return (flags & O_ACCMODE) != O_WRONLY; }
bool can_write(int flags) noexcept { return (flags & O_ACCMODE) != O_RDONLY; }
}  // namespace

std::shared_ptr<stored_file> disk::open(const std::string& path, int flags, int& error) {
  const auto found = files_.find(path);
  if (found == files_.end()) {
    error = ENOENT;
    if ((flags & O_CREAT) == 0 || path.empty()) return nullptr;
    return files_.emplace(path, std::make_shared<stored_file>()).first->second;
  }
  error = EEXIST;
  if ((flags & O_EXCL) != 0) return nullptr;
  if ((flags & O_TRUNC) != 0) set_size(*found->second, 0);
  return found->second;
}

const stored_file* disk::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second.get();
}

void disk::put(std::string_view path, std::string_view text) {
  int ignored = 0;
  stored_file& file = *open(std::string(path), O_CREAT, ignored);
  file.now = file.durable = text;
  file.name_is_durable = true;
  file.changes.clear();
}

std::uint64_t disk::used() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : files_) bytes += file->now.size();
  return bytes;
}
std::size_t disk::moved(std::size_t possible) {
  return possible != 0 && chance(faults.short_transfers) ? sim.random().between(std::size_t{1}, possible)
                                                         : possible;
}

std::int64_t disk::read(const stored_file& file, std::uint64_t offset, void* to, std::size_t size) {
  if (chance(faults.read_errors)) return -EIO;
  if (offset >= file.now.size()) return 0;
  const std::size_t taken = moved(std::min(size, file.now.size() - static_cast<std::size_t>(offset)));
  std::memcpy(to, file.now.data() + offset, taken);
  return static_cast<std::int64_t>(taken);
}

std::int64_t disk::write(stored_file& file, std::uint64_t offset, const void* from, std::size_t size) {
  if (chance(faults.write_errors)) return -EIO;
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return -EINVAL;
  const std::uint64_t end = offset + size;
  const std::uint64_t others = used() - file.now.size();
  const std::uint64_t room = faults.capacity > others ? faults.capacity - others : 0;
  // Overwriting needs no space.
  const std::uint64_t most = std::max<std::uint64_t>(room, file.now.size());
  const std::uint64_t possible = end <= most ? size : (offset < most ? most - offset : 0);
  if (possible == 0 && size != 0) return -ENOSPC;
  const std::size_t taken = moved(static_cast<std::size_t>(possible));
  file.changes.push_back({next_change_++, offset, std::string(static_cast<const char*>(from), taken), false});
  carry_over(file.now, file.changes.back());
  return static_cast<std::int64_t>(taken);
}

int disk::set_size(stored_file& file, std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return -EINVAL;
  if (size > faults.capacity) return -EFBIG;
  file.changes.push_back({next_change_++, size, {}, true});
  carry_over(file.now, file.changes.back());
  return 0;
}

int disk::sync(stored_file& file, std::uint64_t end) {
  const auto covered = [&](const stored_file::change& each) { return each.number < end; };
  if (chance(faults.sync_errors)) {
    // The kernel considers the pages clean and does not write them again.
    std::erase_if(file.changes, covered);
    return -EIO;
  }
  for (const stored_file::change& each : file.changes) {
    if (covered(each)) carry_over(file.durable, each);
  }
  std::erase_if(file.changes, covered);
  file.name_is_durable = true;
  return 0;
}

/// The surviving part of each change is random. Returns false if not even the name survives.
bool disk::survive(stored_file& file) {
  bool exists = file.name_is_durable || chance(2);
  for (const stored_file::change& each : file.changes) {
    const bool whole = chance(2);
    if (each.is_size) {
      if (whole) carry_over(file.durable, each);
      continue;
    }
    for (std::size_t from = 0; from < each.bytes.size();) {
      const std::size_t size = std::min(each.bytes.size() - from,
                                        sector - static_cast<std::size_t>((each.offset + from) % sector));
      if (whole || chance(4)) {
        carry_over(file.durable, {0, each.offset + from, each.bytes.substr(from, size), false});
        exists = true;
      }
      from += size;
    }
  }
  file.changes.clear();
  file.now = file.durable;
  file.name_is_durable = exists;
  return exists;
}

int disk::rename(const std::string& from, const std::string& to) {
  const auto found = files_.find(from);
  if (found == files_.end() || to.empty()) return -ENOENT;
  if (from == to) return 0;
  std::shared_ptr<stored_file>& place = files_[to];
  name_changes_.push_back({next_change_++, from, to, found->second, place});
  place = found->second;
  files_.erase(found);
  return 0;
}

int disk::remove(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) return -ENOENT;
  name_changes_.push_back({next_change_++, path, {}, found->second, nullptr});
  files_.erase(found);
  return 0;
}

bool disk::has_directory(const std::string& path) const {
  const auto below = files_.lower_bound(path + "/");
  return path.empty() || (below != files_.end() && below->first.starts_with(path + "/"));
}

int disk::sync_names(const std::string& prefix, std::uint64_t end) {
  if (chance(faults.sync_errors)) return -EIO;
  std::erase_if(name_changes_, [&](const name_change& each) {
    return each.number < end && each.from.starts_with(prefix) &&
           (each.to.empty() || each.to.starts_with(prefix));
  });
  for (const auto& [name, file] : files_) {
    if (name.starts_with(prefix)) file->name_is_durable = true;
  }
  return 0;
}

void disk::undo(const name_change& what) {
  if (!what.to.empty()) files_.erase(what.to);
  if (what.replaced) files_[what.to] = what.replaced;
  files_[what.from] = what.file;
}

void disk::crash() {
  sim.note("disk: a loss of power");
  // Those that survive are the first of them.
  std::size_t surviving =
      name_changes_.empty() ? 0 : sim.random().between(std::size_t{0}, name_changes_.size());
  for (; name_changes_.size() != surviving; name_changes_.pop_back()) undo(name_changes_.back());
  name_changes_.clear();
  std::erase_if(files_, [&](auto& each) { return !survive(*each.second); });
}

std::int64_t open_file::try_now(io_request& request) {
  const std::int64_t result = carry_out(request);
  const bool writes = request.opcode == io_opcode::write_at || request.opcode == io_opcode::write_parts_at;
  const bool at_once = (flags_ & O_DSYNC) != 0 && writes && result > 0;
  if (!at_once) return result;
  const int synced = disk_.sync(*file_, disk_.next_change());
  return synced < 0 ? synced : result;
}

void on_disk::begin(io_request& request) {
  // A sync does not cover what is changed while it is in progress.
  if (request.opcode == io_opcode::sync) request.offset = disk_.next_change();
}

std::int64_t open_file::carry_out(io_request& request) {
  if (dead_) return -EIO;
  switch (request.opcode) {
    case io_opcode::read_at:
      return can_read(flags_) ? disk_.read(*file_, request.offset, request.buffer, request.size) : -EBADF;
    case io_opcode::write_at:
      if ((flags_ & O_APPEND) != 0) request.offset = size();
      return can_write(flags_) ? disk_.write(*file_, request.offset, request.buffer, request.size) : -EBADF;
    case io_opcode::read_parts_at:
      if (!can_read(flags_)) return -EBADF;
      if (request.size > most_parts) return -EINVAL;
      return read_parts(
          request, [&](void* to, std::size_t size) { return disk_.read(*file_, request.offset, to, size); });
    case io_opcode::write_parts_at: {
      if (!can_write(flags_)) return -EBADF;
      if (request.size > most_parts) return -EINVAL;
      if ((flags_ & O_APPEND) != 0) request.offset = size();
      const std::string all = gathered(request);
      return disk_.write(*file_, request.offset, all.data(), all.size());
    }
    case io_opcode::sync:
      return disk_.sync(*file_, request.offset);
    default:
      return -EINVAL;
  }
}

int open_file::lock(int type) {
  if (dead_) return -EIO;
  if (type == F_UNLCK) {
    unlock();
    return 0;
  }
  const bool exclusive = type == F_WRLCK;
  if (exclusive ? !can_write(flags_) : !can_read(flags_)) return -EBADF;
  std::vector<const void*>& holders = file_->locked_by;
  const bool is_mine = std::count(holders.begin(), holders.end(), this) != 0;
  const bool has_others = holders.size() > (is_mine ? 1 : 0);
  if (has_others && (exclusive || file_->is_locked_exclusively)) return -EAGAIN;
  if (!is_mine) holders.push_back(this);
  file_->is_locked_exclusively = exclusive;
  return 0;
}

int open_file::set_size(std::uint64_t size) {
  if (dead_) return -EIO;
  return can_write(flags_) ? disk_.set_size(*file_, size) : -EINVAL;
}
}  // namespace coracle::detail::simulated

namespace coracle::testing {
disk_faults disk_faults::harsh() noexcept {
  disk_faults all;
  all.most_latency = std::chrono::milliseconds{100};
  all.read_errors = 50;
  all.write_errors = 50;
  all.sync_errors = 50;
  all.short_transfers = 3;
  return all;
}

simulated_disk::simulated_disk(simulation& sim) : its_(std::make_unique<detail::simulated::disk>(sim)) {}
simulated_disk::~simulated_disk() = default;

void simulated_disk::set_faults(const disk_faults& faults) noexcept { its_->faults = faults; }
std::optional<std::string> simulated_disk::contents(std::string_view path) const {
  const auto* const found = its_->find(path);
  if (!found) return std::nullopt;
  return found->now;
}
void simulated_disk::put(std::string_view path, std::string_view text) { its_->put(path, text); }
}  // namespace coracle::testing
