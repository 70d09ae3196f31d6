// tour/open.cpp -- opens the files and directories of a tree that others may be changing.
// SPDX-License-Identifier: MIT
#include "open.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace tour {
namespace {
file_descriptor open_below(int directory, const char* path, int flags) {
  int opened;
  do {
    opened = ::openat(directory, path, flags | O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  } while (opened < 0 && errno == EINTR);
  return file_descriptor(opened);
}
}  // namespace

// The kernel takes at most PATH_MAX bytes at a time: a longer path is walked in pieces that end at a slash.
file_descriptor open_to_read(const std::string& path, int more_flags) {
  file_descriptor directory(AT_FDCWD);
  std::size_t from = 0;
  while (path.size() - from >= PATH_MAX) {
    const std::size_t slash = path.rfind('/', from + PATH_MAX - 1);
    if (slash == std::string::npos || slash <= from) {
      errno = ENAMETOOLONG;
      return file_descriptor();
    }
    directory = open_below(directory.number(), path.substr(from, slash - from).c_str(), O_DIRECTORY);
    if (directory.number() < 0) return file_descriptor();
    from = slash + 1;
  }
  return open_below(directory.number(), path.c_str() + from, more_flags);
}

std::string reason_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
    case ENOTDIR:  // a directory on the way was replaced
      return "not found";
    case ELOOP:
      return "symbolic link";
    case ENXIO:
      return "socket";
    default:
      return std::generic_category().message(error);
  }
}

std::string reason_of_type(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISLNK(mode)) return "symbolic link";
  if (S_ISFIFO(mode)) return "FIFO";
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISDIR(mode)) return "directory";
  return "device";
}
}  // namespace tour
