// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/io/file.hpp>
#include <coracle/io/writable_file.hpp>
#include <string>
#include <system_error>

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

/// Hints only, so it does not matter whether they are taken.
void advise(int fd, file_buffering_mode buffering_mode) noexcept {
  if (has(buffering_mode, file_buffering_mode::sequential)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (has(buffering_mode, file_buffering_mode::random_access)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

/// Calls again while a signal interrupts.
template <class Call>
int retry(Call call) noexcept {
  int result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}
}  // namespace

file::file(io_service& service, const std::filesystem::path& path, detail::file_access access,
           file_open_mode open_mode, file_buffering_mode buffering_mode)
    : path_(path) {
  constexpr mode_t less_the_umask = 0666;
  const int flags = open_flags(access, open_mode, buffering_mode);
  const int fd = retry([&] { return ::open(path.c_str(), flags, less_the_umask); });
  if (fd < 0) throw_error(errno, "cannot open", path);
  descriptor_ = detail::io_descriptor{service, fd, detail::io_descriptor_kind::file};
  struct stat about{};
  if (::fstat(fd, &about) != 0) throw_error(errno, "cannot open", path);
  if (S_ISDIR(about.st_mode)) throw_error(EISDIR, "cannot open", path);
  advise(fd, buffering_mode);
}

file::~file() = default;

std::uint64_t file::size() const {
  struct stat about{};
  if (::fstat(native_handle(), &about) != 0) throw_error(errno, "cannot tell the size of", path_);
  return static_cast<std::uint64_t>(about.st_size);
}

void writable_file::set_size(std::uint64_t size) {
  if (retry([&] { return ::ftruncate(native_handle(), static_cast<off_t>(size)); }) != 0) {
    throw_error(errno, "cannot set the size of", path_);
  }
}

std::size_t detail::file_operation::await_resume() {
  const std::int64_t done = take_result_or_errno();
  if (done >= 0) return static_cast<std::size_t>(done);
  throw_error(static_cast<int>(-done), opcode == io_opcode::read_at ? "cannot read" : "cannot write", path_);
}
}  // namespace coracle
