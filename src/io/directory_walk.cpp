// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/io/detail/directory_walk.hpp>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "io_system.hpp"
#include "status_of.hpp"

namespace coracle::detail {
namespace {
constexpr std::size_t names_capacity = 32 * 1024;
constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;

/// A record of getdents64(2).
struct name_record {
  std::uint64_t inode;
  std::int64_t position;
  unsigned short size;
  unsigned char type;
  char name[1];
};
static_assert(offsetof(name_record, name) == 19);

/// Opens a directory below `first`, through no symbolic link. Returns -1 and sets errno on failure.
int open_below(int first, const char* path) noexcept {
  struct ::open_how how{};
  how.flags = directory_flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, first, path, &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(fd);
  // Before Linux 5.6, or where a filter refuses it, only the last part of the path is sure to be no link.
  return ::openat(first, path, directory_flags | O_NOFOLLOW);
}

std::filesystem::file_type type_of_record(unsigned char type) noexcept {
  return type == DT_UNKNOWN ? std::filesystem::file_type::unknown
                            : type_of(DTTOIF(static_cast<unsigned>(type)));
}
bool is_dot_or_dot_dot(const char* name) noexcept {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}
bool is_denied(int error) noexcept { return error == EACCES || error == EPERM; }
/// A directory that was removed or replaced since its name was read.
bool is_gone(int error) noexcept { return error == ENOENT || error == ENOTDIR || error == ELOOP; }
}  // namespace

directory_walk::directory_walk(const base_directory& base, std::filesystem::path path,
                               const walk_options& options)
    : base_(base.opened() ? base.opened()->native_handle() : AT_FDCWD),
      path_(std::move(path)),
      options_(options) {
  CORACLE_REQUIRE(&io_descriptor::system_of(*base.service()) == &io_system::linux_system(),
                  "a directory of a simulated host was listed, which is not supported: keep the names in a "
                  "file, or list a directory of the system");
}

std::span<const directory_entry> directory_walk::next_batch(const stop_token& stop) {
  if (failure_) {
    has_ended_ = true;
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  count_ = 0;
  try {
    fill(stop);
  } catch (...) {
    failure_ = std::current_exception();
    if (count_ == 0) return next_batch(stop);
  }
  return {entries_.data(), count_};
}

void directory_walk::fill(const stop_token& stop) {
  if (!names_) open_first();
  while (count_ < batch_size && !stop.stop_requested()) {
    if (names_read_ < names_size_) {
      add_next_entry();
    } else if (!read_names() && !open_next()) {
      has_ended_ = true;
      return;
    }
  }
}

void directory_walk::open_first() {
  if (path_.native().find('\0') != std::string::npos) fail(EINVAL, {});
  names_ = std::make_unique<std::byte[]>(names_capacity);
  first_ = owned_descriptor{::openat(base_, path_.c_str(), directory_flags)};
  if (!first_.is_open()) fail(errno, {});
  if (options_.same_file_system) {
    struct ::stat about{};
    if (::fstat(first_.get(), &about) != 0) fail(errno, {});
    device_ = about.st_dev;
  }
  here_.depth = 1;
}

/// Makes the next subdirectory the current one. Returns false if there is none.
bool directory_walk::open_next() {
  while (!pending_.empty()) {
    here_ = std::move(pending_.back());
    pending_.pop_back();
    below_ = owned_descriptor{open_below(first_.get(), here_.path.c_str())};
    if (const int error = errno; !below_.is_open()) {
      if (is_gone(error) || (options_.skip_permission_denied && is_denied(error))) continue;
      fail(error, here_.path);
    }
    if (options_.same_file_system) {
      struct ::stat about{};
      if (::fstat(below_.get(), &about) != 0) fail(errno, here_.path);
      if (about.st_dev != device_) continue;
    }
    here_.path += '/';
    return true;
  }
  return false;
}

/// Reads more names of the current directory. Returns false at its end.
bool directory_walk::read_names() {
  long size;
  do {
    size = ::syscall(SYS_getdents64, current(), names_.get(), names_capacity);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno != ENOENT) fail(errno, here_.path);  // ENOENT: it was removed
  names_read_ = 0;
  names_size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  return names_size_ != 0;
}

void directory_walk::add_next_entry() {
  const auto* const record = reinterpret_cast<const name_record*>(names_.get() + names_read_);
  names_read_ += record->size;
  if (is_dot_or_dot_dot(record->name)) return;
  if (count_ == entries_.size()) entries_.emplace_back();
  directory_entry& entry = entries_[count_];
  entry.path.assign(here_.path).append(record->name);
  entry.depth = here_.depth;
  entry.status = {};
  entry.status.type = type_of_record(record->type);
  const bool is_unknown = entry.status.type == std::filesystem::file_type::unknown;
  if ((options_.with_status || is_unknown) && !ask_status(record->name, entry.status)) return;
  if (entry.status.is_directory() && here_.depth < options_.max_depth)
    pending_.push_back({entry.path, here_.depth + 1});
  ++count_;
}

/// Returns false if the entry no longer exists.
bool directory_walk::ask_status(const char* name, file_status& status) {
  struct statx its;
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (::statx(current(), name, flags, STATX_BASIC_STATS, &its) == 0) {
    status = status_of(its);
    return true;
  }
  const int error = errno;
  if (error == ENOENT) return false;
  // A directory that may be read but not searched: the names are known, and nothing else.
  if (options_.skip_permission_denied && is_denied(error)) {
    status.permissions = std::filesystem::perms::unknown;
    return true;
  }
  fail(error, here_.path + name);
}

void directory_walk::fail(int error, std::string_view path) const {
  std::string what = "cannot list " + (path_.empty() ? std::string(".") : std::string(path_.c_str()));
  if (!path.empty()) what.append("/").append(path);
  throw std::system_error(error, std::system_category(), what);
}
}  // namespace coracle::detail
