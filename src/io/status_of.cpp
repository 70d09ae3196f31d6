// SPDX-License-Identifier: MIT
#include "status_of.hpp"

#include <sys/sysmacros.h>

namespace coracle::detail {
namespace {
file_status::time_point time_of(const statx_timestamp& time) noexcept {
  return file_status::time_point{std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec}};
}
}  // namespace

std::filesystem::file_type type_of(unsigned mode) noexcept {
  using std::filesystem::file_type;
  switch (mode & S_IFMT) {
    case S_IFREG:
      return file_type::regular;
    case S_IFDIR:
      return file_type::directory;
    case S_IFLNK:
      return file_type::symlink;
    case S_IFBLK:
      return file_type::block;
    case S_IFCHR:
      return file_type::character;
    case S_IFIFO:
      return file_type::fifo;
    case S_IFSOCK:
      return file_type::socket;
    default:
      return file_type::unknown;
  }
}

file_status status_of(const struct statx& its) noexcept {
  constexpr std::uint64_t block = 512;
  file_status about;
  about.type = type_of(its.stx_mode);
  about.permissions = static_cast<std::filesystem::perms>(its.stx_mode & 07777U);
  about.size = its.stx_size;
  about.allocated = its.stx_blocks * block;
  about.device = makedev(its.stx_dev_major, its.stx_dev_minor);
  about.inode = its.stx_ino;
  about.links = its.stx_nlink;
  about.owner = its.stx_uid;
  about.group = its.stx_gid;
  about.accessed = time_of(its.stx_atime);
  about.modified = time_of(its.stx_mtime);
  about.changed = time_of(its.stx_ctime);
  return about;
}
}  // namespace coracle::detail
