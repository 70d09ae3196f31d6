// SPDX-License-Identifier: MIT
#include "open_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "host.hpp"

namespace coracle::detail::simulated {
std::int64_t open_directory::fault(const io_request& request) {
  return request.opcode == io_opcode::open ? -EMFILE : -EIO;
}

std::string open_directory::name(const void* path) const {
  const std::string_view its = static_cast<const char*>(path);
  if (its == ".") return prefix_.empty() ? "." : prefix_.substr(0, prefix_.size() - 1);
  return its.starts_with('/') || its.empty() ? std::string(its) : prefix_ + std::string(its);
}

int open_directory::status(const std::string& of, void* about) const {
  const stored_file* const file = disk_.find(of);
  if (!file && !disk_.has_directory(of)) return -ENOENT;
  struct statx found{};
  found.stx_mode = file ? S_IFREG | 0644 : S_IFDIR | 0755;
  found.stx_size = file ? file->now.size() : 0;
  found.stx_nlink = 1;
  *static_cast<struct statx*>(about) = found;
  return 0;
}

std::int64_t open_directory::try_now(io_request& request) {
  if (dead_) return -EIO;
  switch (request.opcode) {
    case io_opcode::open:
      return host_.open_name(name(request.buffer), request.flags);
    case io_opcode::status:
      return status(name(request.buffer), request.address);
    case io_opcode::rename:
      return disk_.rename(name(request.buffer), name(request.address));
    case io_opcode::remove:
      return disk_.remove(name(request.buffer));
    case io_opcode::make_folder:
      return 0;
    case io_opcode::sync:
      return disk_.sync_names(prefix_, request.offset);
    default:
      return -EOPNOTSUPP;
  }
}
}  // namespace coracle::detail::simulated
