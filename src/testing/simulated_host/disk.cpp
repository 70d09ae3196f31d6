// SPDX-License-Identifier: MIT
#include "disk.hpp"

#include <fcntl.h>
#include <sys/inotify.h>

#include <algorithm>
#include <cerrno>
#include <coracle/base/check.hpp>
#include <cstring>
#include <limits>
#include <utility>

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

std::shared_ptr<node> disk::open(const name_tree::base& from, std::string_view path, int flags,
                                 unsigned permissions, name_tree::links how, int& error) {
  const bool creates = (flags & O_CREAT) != 0, is_exclusive = creates && (flags & O_EXCL) != 0;
  using enum name_tree::end_slash;
  const name_tree::place at =
      names.find(from, path, is_exclusive ? name_tree::links::kept_last : how, creates ? refused : of_folder);
  error = at.error;
  if (error != 0) return nullptr;
  if (!at.what) {
    error = -ENOENT;
    return creates ? names.create_file(at, permissions) : nullptr;
  }
  error = -EEXIST;
  if (is_exclusive) return nullptr;
  error = -ENOTDIR;
  if ((flags & O_DIRECTORY) != 0 && at.what->type != node::kind::folder) return nullptr;
  error = -EISDIR;
  if (at.what->type == node::kind::folder) return can_write(flags) || creates ? nullptr : at.what;
  if ((flags & O_TRUNC) != 0) set_size(static_cast<stored_file&>(*at.what), 0);
  return at.what;
}

void disk::put(std::string_view path, std::string_view text) {
  const name_tree::place at = names.make_way_to(path);
  CORACLE_REQUIRE(at.error == 0 && (!at.what || at.what->type == node::kind::file),
                  "a file was put on a simulated disk where a directory is");
  auto& file = static_cast<stored_file&>(at.what ? *at.what : *names.create_file(at, 0666));
  file.now = file.durable = text;
  file.name_is_durable = true;
  file.changes.clear();
}

void disk::describe(const node& what, struct ::stat& about) const noexcept {
  struct ::statx its{};
  describe(what, its);
  about = {};
  about.st_mode = its.stx_mode;
  about.st_size = static_cast<off_t>(its.stx_size);
  about.st_blocks = static_cast<blkcnt_t>(its.stx_blocks);
  about.st_ino = its.stx_ino;
  about.st_nlink = its.stx_nlink;
  about.st_mtim = {its.stx_mtime.tv_sec, its.stx_mtime.tv_nsec};
}
void disk::describe(const node& what, struct ::statx& about) const noexcept {
  about = {};
  about.stx_mask = STATX_BASIC_STATS;
  about.stx_ino = what.created;
  about.stx_nlink = what.names;
  constexpr std::int64_t second = 1'000'000'000;
  about.stx_mtime.tv_sec = what.modified / second;
  about.stx_mtime.tv_nsec = static_cast<unsigned>(what.modified % second);
  about.stx_atime = about.stx_ctime = about.stx_mtime;
  unsigned type = S_IFREG;
  if (what.type == node::kind::folder) {
    type = S_IFDIR;
    about.stx_nlink = 2;
  } else if (what.type == node::kind::symlink) {
    type = S_IFLNK;
    about.stx_size = static_cast<const symlink&>(what).target.size();
  } else {
    about.stx_size = static_cast<const stored_file&>(what).now.size();
    about.stx_blocks = (about.stx_size + sector - 1) / sector;
  }
  about.stx_mode = static_cast<std::uint16_t>(type | what.permissions);
}

std::uint64_t disk::used() const {
  std::uint64_t bytes = 0;
  names.visit_files([&](const stored_file& file) { bytes += file.now.size(); });
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
  if (taken != 0) std::memcpy(to, file.now.data() + offset, taken);
  return static_cast<std::int64_t>(taken);
}

std::int64_t disk::write(stored_file& file, std::uint64_t offset, const void* from, std::size_t size) {
  if (chance(faults.write_errors)) return -EIO;
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return -EINVAL;
  if (size == 0) return 0;  // it does not extend the file either
  const std::uint64_t end = offset + size;
  const std::uint64_t others = used() - file.now.size();
  const std::uint64_t room = faults.capacity > others ? faults.capacity - others : 0;
  // Overwriting needs no space.
  const std::uint64_t most = std::max<std::uint64_t>(room, file.now.size());
  const std::uint64_t possible = end <= most ? size : (offset < most ? most - offset : 0);
  if (possible == 0) return -ENOSPC;
  const std::size_t taken = moved(static_cast<std::size_t>(possible));
  file.changes.push_back(
      {names.take_number(), offset, std::string(static_cast<const char*>(from), taken), false});
  carry_over(file.now, file.changes.back());
  file.modified = names.time();
  names.contents_changed(file, IN_MODIFY);
  return static_cast<std::int64_t>(taken);
}

int disk::set_size(stored_file& file, std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return -EINVAL;
  if (size > faults.capacity) return -EFBIG;
  file.changes.push_back({names.take_number(), size, {}, true});
  carry_over(file.now, file.changes.back());
  file.modified = names.time();
  names.contents_changed(file, IN_MODIFY);
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
  return exists;
}

int disk::sync(folder& names_of, std::uint64_t end) {
  if (chance(faults.sync_errors)) return -EIO;
  names.sync(names_of, end);
  return 0;
}

void disk::crash() {
  sim.note("disk: a loss of power");
  names.crash([this](stored_file& file) { return survive(file); });
}

open_file::open_file(disk& its_disk, std::shared_ptr<stored_file> file, int flags)
    : on_disk(its_disk), file_(std::move(file)), flags_(flags) {
  disk_.names.was_opened(*file_);
}
void open_file::close() {
  unlock();
  if (dead_) return;  // the crash has closed it
  if (can_write(flags_)) disk_.names.contents_changed(*file_, IN_CLOSE_WRITE);
  disk_.names.was_closed(*file_);
}
void open_file::lose_power() {
  unlock();
  if (!std::exchange(dead_, true)) disk_.names.was_closed(*file_);
}

std::int64_t open_file::read(std::uint64_t offset, void* to, std::size_t size) {
  return can_read(flags_) ? disk_.read(*file_, offset, to, size) : -EBADF;
}
std::int64_t open_file::write(std::uint64_t offset, const void* from, std::size_t size) {
  if (!can_write(flags_)) return -EBADF;
  if ((flags_ & O_APPEND) != 0) offset = file_->now.size();
  const std::int64_t result = disk_.write(*file_, offset, from, size);
  const bool at_once = (flags_ & O_DSYNC) != 0 && result > 0;
  if (!at_once) return result;
  const int synced = disk_.sync(*file_, disk_.names.next_change());
  return synced < 0 ? synced : result;
}

void on_disk::begin(io_request& request) {
  // A sync does not cover what is changed while it is in progress.
  if (request.opcode == io_opcode::sync) request.offset = disk_.names.next_change();
}

std::int64_t open_file::try_now(io_request& request) {
  if (dead_) return -EIO;
  switch (request.opcode) {
    case io_opcode::read_at:
      return read(request.offset, request.buffer, request.size);
    case io_opcode::write_at:
      return write(request.offset, request.buffer, request.size);
    case io_opcode::read_parts_at:
      if (request.size > most_parts) return -EINVAL;
      return read_parts(request, [&](void* to, std::size_t size) { return read(request.offset, to, size); });
    case io_opcode::write_parts_at: {
      if (request.size > most_parts) return -EINVAL;
      const std::string all = gathered(request);
      return write(request.offset, all.data(), all.size());
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
  const auto found = its_->names.find_file(path);
  if (!found) return std::nullopt;
  return found->now;
}
void simulated_disk::put(std::string_view path, std::string_view text) { its_->put(path, text); }
void simulated_disk::create_directories(std::string_view path) {
  its_->names.make_way_to(std::string(path) + "/");
}
}  // namespace coracle::testing
