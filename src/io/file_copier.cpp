// SPDX-License-Identifier: MIT
#include "file_copier.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>

#include "io_system.hpp"
#include "system_error.hpp"

namespace coracle::detail {
namespace {
constexpr std::size_t piece_size = std::size_t{16} << 20;
constexpr std::size_t memory_size = std::size_t{256} << 10;
constexpr std::uint64_t no_end = std::numeric_limits<std::int64_t>::max();

/// Errors by which copy_file_range(2) refuses two files that can nevertheless be read and written.
bool is_refusal(int error) noexcept {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}
}  // namespace

std::filesystem::perms file_copier::permissions_of(const file& from) {
  struct ::stat about{};
  const int result = from.descriptor_.system().status(from.native_handle(), about);
  if (result < 0) throw_error(-result, "cannot copy a file");
  return static_cast<std::filesystem::perms>(about.st_mode & 0777U);
}

file_copier::file_copier(const readable_file& from, const writable_file& to)
    : from_system_(system_of(from)),
      to_system_(system_of(to)),
      from_(from.native_handle()),
      to_(to.native_handle()),
      from_path_(from.path_),
      to_path_(to.path_) {}
io_system& file_copier::system_of(const file& of) noexcept { return of.descriptor_.system(); }
file_copier::~file_copier() = default;

void file_copier::copy_piece() {
  if (way_ == way::undecided) begin();
  if (is_complete_) return;
  if (position_ == data_end_ && !find_data()) return end();
  copy_range(static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, data_end_ - position_)));
}

void file_copier::begin() {
  struct ::stat from{}, to{};
  checked(from_system_.status(from_, from));
  checked(to_system_.status(to_, to));
  const bool is_one_system = &from_system_ == &to_system_;
  if (is_one_system && from.st_dev == to.st_dev && from.st_ino == to.st_ino) fail(EEXIST);
  if (to.st_size != 0) checked(to_system_.set_size(to_, 0));
  way_ = is_one_system ? way::in_kernel : way::through_memory;
  if (is_one_system && from_system_.share_blocks(from_, to_) == 0) {
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
  std::int64_t begin = from_system_.seek(from_, position_, SEEK_DATA);
  if (begin == -ENXIO) {
    // The file may grow meanwhile: only up to a size that is read before the search it surely has no data.
    struct ::stat from{};
    checked(from_system_.status(from_, from));
    size_with_hole_ = static_cast<std::uint64_t>(from.st_size);
    begin = from_system_.seek(from_, position_, SEEK_DATA);
  }
  if (begin == -ENXIO) return false;
  const std::int64_t end =
      begin < 0 ? begin : from_system_.seek(from_, static_cast<std::uint64_t>(begin), SEEK_HOLE);
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
    if (copied == 0) {
      is_complete_ = true;
      return;
    }
    position_ += copied;
    size -= copied;
  }
}

std::size_t file_copier::copy_in_kernel(std::size_t size) {
  const std::int64_t copied = from_system_.copy_range(from_, to_, position_, size);
  if (copied >= 0 || !is_refusal(static_cast<int>(-copied))) return checked(copied);
  way_ = way::through_memory;
  return copy_through_memory(size);
}

std::size_t file_copier::copy_through_memory(std::size_t size) {
  if (!memory_) memory_.reset(new char[memory_size]);
  const std::size_t got =
      checked(from_system_.read_at(from_, memory_.get(), std::min(size, memory_size), position_));
  for (std::size_t put = 0; put != got;)
    put += checked(to_system_.write_at(to_, memory_.get() + put, got - put, position_ + put));
  return got;
}

/// A hole at the end is a size without data.
void file_copier::end() {
  if (size_with_hole_ > position_) {
    checked(to_system_.set_size(to_, size_with_hole_));
    position_ = size_with_hole_;
  }
  is_complete_ = true;
}

/// Returns the result of a call, or throws its error.
std::size_t file_copier::checked(std::int64_t result) const {
  if (result < 0) fail(static_cast<int>(-result));
  return static_cast<std::size_t>(result);
}
void file_copier::fail(int error) const {
  throw_error(error, "cannot copy " + from_path_.native() + " to " + to_path_.native());
}
}  // namespace coracle::detail
