// SPDX-License-Identifier: MIT
#include "directory_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "io_system.hpp"
#include "name_record.hpp"
#include "path_in_message.hpp"
#include "status_of.hpp"
#include "system_error.hpp"

namespace coracle::detail {
namespace {
constexpr std::size_t names_capacity = 32 * 1024;

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

void system_descriptor::reset(int fd) noexcept {
  if (is_open()) system_.close(fd_);
  fd_ = fd;
}

directory_walk::directory_walk(const base_directory& base, std::filesystem::path path,
                               const walk_options& options)
    : system_(io_descriptor::system_of(*base.service())),
      base_(base),
      path_(std::move(path)),
      options_(options),
      first_(system_),
      below_(system_) {}

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
  if (options_.max_depth == 0) {
    has_ended_ = true;
    return;
  }
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
  const int base = base_.opened() ? base_.opened()->native_handle() : AT_FDCWD;
  const int fd = system_.open_directory(base, path_.c_str(), false);
  if (fd < 0) fail(-fd, {});
  first_.reset(fd);
  if (options_.same_file_system) {
    struct ::stat about{};
    if (const int result = system_.status(first_.get(), about); result < 0) fail(-result, {});
    device_ = about.st_dev;
  }
  here_.depth = 1;
}

/// Makes the next subdirectory the current one. Returns false if there is none.
bool directory_walk::open_next() {
  while (!pending_.empty()) {
    here_ = std::move(pending_.back());
    pending_.pop_back();
    const int fd = system_.open_directory(first_.get(), here_.path.c_str(), true);
    below_.reset(fd);
    if (fd < 0) {
      if (is_gone(-fd) || (options_.skip_permission_denied && is_denied(-fd))) continue;
      fail(-fd, here_.path);
    }
    if (options_.same_file_system) {
      struct ::stat about{};
      if (const int result = system_.status(fd, about); result < 0) fail(-result, here_.path);
      if (about.st_dev != device_) continue;
    }
    here_.path += '/';
    return true;
  }
  return false;
}

/// Reads more names of the current directory. Returns false at its end.
bool directory_walk::read_names() {
  const std::int64_t size = system_.read_names(current(), names_.get(), names_capacity);
  const int error = size < 0 ? static_cast<int>(-size) : 0;
  // Some file systems deny it here, and not where the directory is opened.
  const bool is_skipped = options_.skip_permission_denied && here_.depth != 1 && is_denied(error);
  if (error != 0 && error != ENOENT && !is_skipped)  // ENOENT: it was removed
    fail(error, std::string_view{here_.path}.substr(0, here_.path.rfind('/')));
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
  const int error = -system_.status_of_name(current(), name, its);
  if (error == 0) {
    status = status_of(its);
    return true;
  }
  if (error == ENOENT) return false;
  // A directory that may be read but not searched: the names are known, and nothing else.
  if (options_.skip_permission_denied && is_denied(error)) {
    status.permissions = std::filesystem::perms::unknown;
    return true;
  }
  fail(error, here_.path + name);
}

void directory_walk::fail(int error, std::string_view path) const {
  std::string what = "cannot list " + path_in_message(base_.in_full(path_));
  if (!path.empty()) what.append("/").append(path);
  throw_error(error, what);
}
}  // namespace coracle::detail
