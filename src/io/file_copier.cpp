// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <coracle/io/copy_file.hpp>
#include <limits>
#include <string>
#include <system_error>

#include "io_system.hpp"

namespace coracle::detail {
namespace {
constexpr std::size_t piece_size = std::size_t{16} << 20;
constexpr std::size_t memory_size = std::size_t{256} << 10;
constexpr std::uint64_t no_end = std::numeric_limits<std::int64_t>::max();

/// Errors by which copy_file_range(2) refuses two files that can nevertheless be read and written.
bool is_refusal(int error) noexcept {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}
struct ::stat status_of_open(int fd, int& error) noexcept {
  struct ::stat about{};
  error = ::fstat(fd, &about) == 0 ? 0 : errno;
  return about;
}
::off_t offset_of(std::uint64_t position) noexcept { return static_cast<::off_t>(position); }
}  // namespace

std::filesystem::perms file_copier::permissions_of(const file& from) {
  int error = 0;
  const struct ::stat about = status_of_open(from.native_handle(), error);
  if (error != 0) throw std::system_error(error, std::system_category(), "cannot copy a file");
  return static_cast<std::filesystem::perms>(about.st_mode & 0777U);
}

file_copier::file_copier(const readable_file& from, const writable_file& to,
                         const std::filesystem::path& from_path, const std::filesystem::path& to_path)
    : from_(from.native_handle()), to_(to.native_handle()), from_path_(from_path), to_path_(to_path) {}
file_copier::~file_copier() = default;

void file_copier::copy_piece() {
  if (way_ == way::undecided) begin();
  if (is_complete_) return;
  if (position_ == data_end_ && !find_data()) return end();
  copy_range(static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, data_end_ - position_)));
}

void file_copier::begin() {
  int error = 0;
  const struct ::stat from = status_of_open(from_, error);
  if (error != 0) fail(error);
  const struct ::stat to = status_of_open(to_, error);
  if (error != 0) fail(error);
  if (from.st_dev == to.st_dev && from.st_ino == to.st_ino) fail(EEXIST);
  if (to.st_size != 0 && ::ftruncate(to_, 0) != 0) fail(errno);
  way_ = way::in_kernel;
  if (::ioctl(to_, FICLONE, from_) == 0) {
    position_ = static_cast<std::uint64_t>(from.st_size);
    is_complete_ = true;
    return;
  }
  constexpr ::blkcnt_t block = 512;
  has_holes_ = from.st_size > from.st_blocks * block;
  ::posix_fadvise(from_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

/// Sets the range of the next data. Returns false if there is none.
bool file_copier::find_data() {
  if (!has_holes_) {
    data_end_ = no_end;
    return true;
  }
  const ::off_t begin = ::lseek(from_, offset_of(position_), SEEK_DATA);
  if (begin < 0 && errno == ENXIO) return false;
  const ::off_t end = begin < 0 ? begin : ::lseek(from_, begin, SEEK_HOLE);
  if (begin < 0 || end <= begin) {  // the file system cannot tell, or the file was truncated meanwhile
    has_holes_ = false;
    return find_data();
  }
  position_ = static_cast<std::uint64_t>(begin);
  data_end_ = static_cast<std::uint64_t>(end);
  return true;
}

void file_copier::copy_range(std::size_t size) {
  while (size != 0) {
    const std::size_t copied = way_ == way::in_kernel ? copy_in_kernel(size) : copy_through_memory(size);
    if (copied == 0 && way_ == way::in_kernel && position_ == 0) {
      way_ = way::through_memory;  // files that the system generates, as in /proc, have no size
      continue;
    }
    if (copied == 0) return end();
    position_ += copied;
    size -= copied;
  }
}

std::size_t file_copier::copy_in_kernel(std::size_t size) {
  for (;;) {
    ::off_t from_at = offset_of(position_), to_at = from_at;
    const ::ssize_t copied = ::copy_file_range(from_, &from_at, to_, &to_at, size, 0);
    if (copied >= 0) return static_cast<std::size_t>(copied);
    if (is_refusal(errno)) {
      way_ = way::through_memory;
      return copy_through_memory(size);
    }
    if (errno != EINTR) fail(errno);
  }
}

std::size_t file_copier::copy_through_memory(std::size_t size) {
  if (!memory_) memory_.reset(new char[memory_size]);
  ::ssize_t got;
  do {
    got = ::pread(from_, memory_.get(), std::min(size, memory_size), offset_of(position_));
  } while (got < 0 && errno == EINTR);
  if (got < 0) fail(errno);
  for (::ssize_t put = 0; put != got;) {
    const ::ssize_t more =
        ::pwrite(to_, memory_.get() + put, static_cast<std::size_t>(got - put), offset_of(position_) + put);
    if (more < 0 && errno != EINTR) fail(errno);
    if (more > 0) put += more;
  }
  return static_cast<std::size_t>(got);
}

/// A hole at the end is a size without data.
void file_copier::end() {
  if (has_holes_) {
    int error = 0;
    const struct ::stat from = status_of_open(from_, error);
    if (error != 0) fail(error);
    if (const auto size = static_cast<std::uint64_t>(from.st_size); size > position_) {
      if (::ftruncate(to_, from.st_size) != 0) fail(errno);
      position_ = size;
    }
  }
  is_complete_ = true;
}

void file_copier::fail(int error) const {
  throw std::system_error(error, std::system_category(),
                          "cannot copy " + from_path_.native() + " to " + to_path_.native());
}
}  // namespace coracle::detail
