// SPDX-License-Identifier: MIT
#include "open_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <coracle/io/detail/path_operation.hpp>
#include <cstring>

#include "../../io/name_record.hpp"
#include "host.hpp"

namespace coracle::detail::simulated {
std::int64_t open_directory::fault(const io_request& request) {
  return request.opcode == io_opcode::open ? -EMFILE : -EIO;
}

int open_directory::status(const char* path, int flags, void* about) const {
  const bool keeps_link = (flags & AT_SYMLINK_NOFOLLOW) != 0;
  const name_tree::place at =
      disk_.names.find(folder_, path, keeps_link ? name_tree::links::kept_last : name_tree::links::followed);
  if (at.error != 0) return at.error;
  if (!at.what) return -ENOENT;
  disk_.describe(*at.what, *static_cast<struct ::statx*>(about));
  return 0;
}

void open_directory::list() {
  is_listed_ = true;
  listed_.emplace_back(".", folder_);
  listed_.emplace_back("..", folder_);
  for (const auto& each : folder_->entries) listed_.push_back(each);
  for (std::size_t left = listed_.size(); left > 1; --left)
    std::swap(listed_[left - 1], listed_[disk_.sim.random().below(left)]);
}

std::int64_t open_directory::read_names(void* to, std::size_t size) {
  if (!is_listed_) list();
  const std::size_t most = disk_.chance(disk_.faults.short_transfers) ? 1 : listed_.size();
  std::size_t used = 0;
  for (std::size_t count = 0; count != most && read_ != listed_.size(); ++count, ++read_) {
    const auto& [name, its] = listed_[read_];
    name_record head{};
    head.inode = its->created;
    constexpr std::size_t alignment = alignof(name_record);
    head.size = static_cast<unsigned short>((offsetof(name_record, name) + name.size() + alignment) /
                                            alignment * alignment);
    head.type = its->type == node::kind::folder ? DT_DIR : its->type == node::kind::file ? DT_REG : DT_LNK;
    if (used + head.size > size) return used == 0 ? -EINVAL : static_cast<std::int64_t>(used);
    char* const at = static_cast<char*>(to) + used;
    std::memset(at, 0, head.size);
    std::memcpy(at, &head, offsetof(name_record, name));
    name.copy(at + offsetof(name_record, name), name.size());
    used += head.size;
  }
  return static_cast<std::int64_t>(used);
}

std::int64_t open_directory::try_now(io_request& request) {
  if (dead_) return -EIO;
  const auto* const path = static_cast<const char*>(request.buffer);
  const auto* const other = static_cast<const char*>(request.address);
  const auto permissions = static_cast<unsigned>(request.size);
  switch (request.opcode) {
    case io_opcode::open:
      return host_.open_name(folder_, path, request.flags, permissions);
    case io_opcode::status:
      return status(path, request.flags, request.address);
    case io_opcode::rename:
      return disk_.names.rename(folder_, path, other);
    case io_opcode::link:
      return disk_.names.link(folder_, path, other);
    case io_opcode::symlink:
      return disk_.names.make_symlink(folder_, path, other);
    case io_opcode::make_folder:
      return disk_.names.make_folder(folder_, path, permissions);
    case io_opcode::remove:
      return disk_.names.remove(folder_, path, request.flags == removes_directory);
    case io_opcode::sync:
      return disk_.sync(*folder_, request.offset);
    default:
      return -EOPNOTSUPP;
  }
}
}  // namespace coracle::detail::simulated
