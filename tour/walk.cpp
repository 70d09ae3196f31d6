// tour/walk.cpp -- every file below a directory, one after the other.
// SPDX-License-Identifier: MIT
#include "walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "open.hpp"

namespace tour {
namespace {
struct close_directory {
  void operator()(DIR* open) const noexcept { ::closedir(open); }
};

/// The entries of one directory. It looks at errno so that the coroutine need not, which may go on in another
/// thread after each yield.
class directory_listing {
 public:
  explicit directory_listing(const std::string& path) {
    file_descriptor opened = open_to_read(path, O_DIRECTORY);
    if (opened.number() >= 0) open_.reset(::fdopendir(opened.number()));
    if (open_) {
      static_cast<void>(opened.release());
    } else {
      error_ = errno;
    }
  }
  /// False: that was the last one, or there was an error.
  bool next() {
    do {
      if (!open_) return false;
      errno = 0;
      entry_ = ::readdir(open_.get());
      if (!entry_) {
        error_ = errno;
        return false;
      }
    } while (name() == "." || name() == "..");
    return true;
  }
  [[nodiscard]] std::string_view name() const { return entry_->d_name; }
  /// True: a directory. Else says why the entry is skipped, or nothing for a regular file.
  bool is_directory(std::string& skipped) const {
    struct stat status;
    status.st_mode = static_cast<mode_t>(DTTOIF(entry_->d_type));
    if (entry_->d_type == DT_UNKNOWN &&
        ::fstatat(::dirfd(open_.get()), entry_->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      skipped = reason_of(errno);
      return false;
    }
    skipped = reason_of_type(status.st_mode);
    return S_ISDIR(status.st_mode);
  }
  /// Why there are no more entries; zero: there are none.
  [[nodiscard]] int error() const { return error_; }

 private:
  std::unique_ptr<DIR, close_directory> open_;
  const dirent* entry_ = nullptr;
  int error_ = 0;
};

/// Where to start, with symbolic links followed. True: a directory. Else as is_directory().
bool starts_at_directory(const std::filesystem::path& root, std::string& path, std::string& skipped) {
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::canonical(root, failed);
  path = failed ? root.string() : target.string();
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    skipped = reason_of(errno);
    return false;
  }
  skipped = reason_of_type(status.st_mode);
  return S_ISDIR(status.st_mode);
}
}  // namespace

coracle::generator<walked_file&> walk(std::filesystem::path root) {
  std::vector<std::string> directories;
  walked_file found;
  if (starts_at_directory(root, found.path, found.skipped)) {
    directories.push_back(found.path);
  } else {
    co_yield found;
  }
  while (!directories.empty()) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    directory_listing listing(directory);
    while (listing.next()) {
      found.path = directory;
      found.path.append("/").append(listing.name());
      if (listing.is_directory(found.skipped)) {
        directories.push_back(std::move(found.path));
      } else {
        co_yield found;
      }
    }
    if (listing.error() != 0) {
      found.path = directory;
      found.skipped = "directory: " + reason_of(listing.error());
      co_yield found;
    }
  }
}
}  // namespace tour
