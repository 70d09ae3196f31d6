// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <cerrno>
#include <coracle/io/file.hpp>
#include <coracle/io/readable_file.hpp>
#include <coracle/io/writable_file.hpp>
#include <string>
#include <system_error>

#include "io_system.hpp"

namespace coracle {
namespace {
[[noreturn]] void throw_error(int error, const char* what, const std::filesystem::path& path) {
  throw std::system_error(error, std::system_category(), what + (" " + path.native()));
}

constexpr bool has(file_buffering_mode modes, file_buffering_mode one) noexcept {
  return (modes & one) == one;
}

int open_flags(detail::file_access access, file_open_mode open_mode, file_buffering_mode buffering_mode) {
  int flags = O_CLOEXEC;
  switch (access) {
    case detail::file_access::read:
      flags |= O_RDONLY;
      break;
    case detail::file_access::write:
      flags |= O_WRONLY;
      break;
    case detail::file_access::read_write:
      flags |= O_RDWR;
      break;
  }
  switch (open_mode) {
    case file_open_mode::open_existing:
      break;
    case file_open_mode::create_always:
      flags |= O_CREAT | O_TRUNC;
      break;
    case file_open_mode::create_new:
      flags |= O_CREAT | O_EXCL;
      break;
    case file_open_mode::create_or_open:
      flags |= O_CREAT;
      break;
    case file_open_mode::truncate_existing:
      flags |= O_TRUNC;
      break;
  }
  if (has(buffering_mode, file_buffering_mode::unbuffered)) flags |= O_DIRECT;
  if (has(buffering_mode, file_buffering_mode::write_through)) flags |= O_DSYNC;
  return flags;
}

detail::io_descriptor_kind kind_of(file_buffering_mode buffering_mode) noexcept {
  if (has(buffering_mode, file_buffering_mode::unbuffered)) return detail::io_descriptor_kind::uncached_file;
  if (has(buffering_mode, file_buffering_mode::write_through))
    return detail::io_descriptor_kind::write_through_file;
  return detail::io_descriptor_kind::file;
}

/// These are only hints, so errors are ignored.
void advise(int fd, file_buffering_mode buffering_mode) noexcept {
  if (has(buffering_mode, file_buffering_mode::sequential)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (has(buffering_mode, file_buffering_mode::random_access)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}
}  // namespace

file::file(io_service& service, const std::filesystem::path& path, detail::file_access access,
           file_open_mode open_mode, file_buffering_mode buffering_mode)
    : path_(path) {
  if (path.native().find('\0') != std::string::npos)
    throw_error(EINVAL, "cannot open a path that contains a NUL:", path.c_str());
  detail::io_system& system = detail::io_descriptor::system_of(service);
  const int fd = system.open(path, open_flags(access, open_mode, buffering_mode));
  if (fd < 0) throw_error(-fd, "cannot open", path);
  descriptor_ = detail::io_descriptor{service, fd, kind_of(buffering_mode)};
  struct ::stat about{};
  if (const int result = system.status(fd, about); result < 0) throw_error(-result, "cannot open", path);
  if (S_ISDIR(about.st_mode)) throw_error(EISDIR, "cannot open", path);
  advise(fd, buffering_mode);
}

file::~file() = default;

std::uint64_t file::size() const {
  struct ::stat about{};
  const int result = descriptor_.system().status(native_handle(), about);
  if (result < 0) throw_error(-result, "cannot get the size of", path_);
  return static_cast<std::uint64_t>(about.st_size);
}

void writable_file::set_size(std::uint64_t size) {
  const int result = descriptor_.system().set_size(native_handle(), size);
  if (result < 0) throw_error(-result, "cannot set the size of", path_);
}

void readable_file::throw_cut_off() const { throw_error(ENODATA, "unexpected end of file:", path_); }

namespace {
const char* failure_of(detail::io_opcode code) noexcept {
  switch (code) {
    case detail::io_opcode::read_at:
      return "cannot read";
    case detail::io_opcode::write_at:
      return "cannot write";
    default:
      return "cannot write to the device";
  }
}
}  // namespace

std::size_t detail::file_operation::await_resume() {
  const std::int64_t done = take_result_or_errno();
  if (done >= 0) return static_cast<std::size_t>(done);
  throw_error(static_cast<int>(-done), failure_of(opcode), path_);
}
}  // namespace coracle
