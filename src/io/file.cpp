// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <cerrno>
#include <coracle/io/detail/transfer_count.hpp>
#include <coracle/io/file.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/io/readable_file.hpp>
#include <coracle/io/writable_file.hpp>
#include <coracle/io/write_only_file.hpp>
#include <string>

#include "io_failure_of.hpp"
#include "io_system.hpp"
#include "parts_left.hpp"
#include "path_in_message.hpp"
#include "system_error.hpp"

namespace coracle {
namespace {
[[noreturn]] void throw_file_error(int error, const char* what, const std::filesystem::path& path) {
  detail::throw_error(error, what + (" " + detail::path_in_message(path)));
}

constexpr bool has(file_buffering_mode modes, file_buffering_mode one) noexcept {
  return (modes & one) == one;
}

/// Hints only, so it does not matter whether they are taken.
void advise(int fd, file_buffering_mode buffering_mode) noexcept {
  if (has(buffering_mode, file_buffering_mode::sequential)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (has(buffering_mode, file_buffering_mode::random_access)) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}
int access_flags(detail::file_access access) noexcept {
  switch (access) {
    case detail::file_access::read:
      return O_RDONLY;
    case detail::file_access::write:
      return O_WRONLY;
    default:
      return O_RDWR;
  }
}
int creation_flags(file_open_mode open_mode) noexcept {
  switch (open_mode) {
    case file_open_mode::open_existing:
      return 0;
    case file_open_mode::create_always:
      return O_CREAT | O_TRUNC;
    case file_open_mode::create_new:
      return O_CREAT | O_EXCL;
    case file_open_mode::create_or_open:
      return O_CREAT;
    case file_open_mode::truncate_existing:
      return O_TRUNC;
    default:
      return O_CREAT | O_APPEND;
  }
}
detail::io_descriptor_kind kind_of(file_buffering_mode buffering_mode) noexcept {
  if (has(buffering_mode, file_buffering_mode::unbuffered)) return detail::io_descriptor_kind::uncached_file;
  if (has(buffering_mode, file_buffering_mode::write_through))
    return detail::io_descriptor_kind::write_through_file;
  return detail::io_descriptor_kind::file;
}
}  // namespace

detail::open_arguments::open_arguments(file_access access, file_open_mode open_mode,
                                       file_buffering_mode buffering_mode) noexcept
    : flags(O_CLOEXEC | access_flags(access) | creation_flags(open_mode)),
      kind(kind_of(buffering_mode)),
      buffering(buffering_mode) {
  if (has(buffering_mode, file_buffering_mode::unbuffered)) flags |= O_DIRECT;
  if (has(buffering_mode, file_buffering_mode::write_through)) flags |= O_DSYNC;
}
detail::open_arguments detail::open_arguments::of_directory() noexcept {
  open_arguments how{file_access::read, file_open_mode::open_existing, file_buffering_mode::default_};
  how.flags |= O_DIRECTORY;
  how.is_directory = true;
  return how;
}

detail::io_descriptor detail::put_into_use(io_descriptor opened, const std::filesystem::path& path,
                                           const open_arguments& how) {
  if (how.is_directory) return opened;
  struct ::stat about{};
  if (const int result = opened.system().status(opened.native_handle(), about); result < 0)
    throw_file_error(-result, "cannot open", path);
  if (S_ISDIR(about.st_mode)) throw_file_error(EISDIR, "cannot open", path);
  advise(opened.native_handle(), how.buffering);
  return opened;
}

file::file(io_service& service, const std::filesystem::path& path, detail::file_access access,
           file_open_mode open_mode, file_buffering_mode buffering_mode)
    : path_(path) {
  if (path.native().find('\0') != std::string::npos)
    throw_file_error(EINVAL, "cannot open a path that contains a NUL:", path);
  detail::io_system& system = detail::io_descriptor::system_of(service);
  const detail::open_arguments how{access, open_mode, buffering_mode};
  const int fd = system.open(path, how.flags);
  if (fd < 0) throw_file_error(-fd, "cannot open", path);
  descriptor_ = detail::put_into_use({service, fd, how.kind}, path, how);
}

file::~file() = default;
read_only_file::~read_only_file() = default;
write_only_file::~write_only_file() = default;
read_write_file::~read_write_file() = default;

std::uint64_t file::size() const {
  struct ::stat about{};
  const int result = descriptor_.system().status(native_handle(), about);
  if (result < 0) throw_file_error(-result, "cannot get the size of", path_);
  return static_cast<std::uint64_t>(about.st_size);
}

void writable_file::set_size(std::uint64_t size) {
  const int result = descriptor_.system().set_size(native_handle(), size);
  if (result < 0) throw_file_error(-result, "cannot set the size of", path_);
}

detail::library_task<std::size_t> readable_file::read_exactly_body(std::uint64_t offset, void* buffer,
                                                                   byte_count size, stop_token token,
                                                                   std::size_t* got) const {
  std::size_t local = 0;
  std::size_t& done = detail::transfer_count(got, local, size);
  while (done != size) {
    const std::size_t more =
        co_await read(offset + done, static_cast<char*>(buffer) + done, size - done, token);
    if (more == 0 && done == 0) co_return more;
    if (more == 0) throw_file_error(ENODATA, "unexpected end of file:", path_);
    done += more;
  }
  co_return size;
}

detail::library_task<> writable_file::write_all_body(std::uint64_t offset, const void* buffer,
                                                     byte_count size, stop_token token, std::size_t* put) {
  std::size_t local = 0;
  std::size_t& done = detail::transfer_count(put, local, size);
  while (done != size) {
    const std::size_t more =
        co_await write(offset + done, static_cast<const char*>(buffer) + done, size - done, token);
    done += more;
  }
}
detail::library_task<> writable_file::write_parts_body(std::uint64_t offset, const_buffers parts,
                                                       stop_token token, std::size_t* put) {
  std::size_t local = 0;
  std::size_t& done = put ? *put : local;
  for (detail::parts_left left{parts, done}; !left.empty();) {
    const std::size_t more = co_await write(offset + done, left.next(), token);
    left.remove(more);
    done += more;
  }
}

namespace {
const char* what_failed(detail::io_opcode code) noexcept {
  switch (code) {
    case detail::io_opcode::read_at:
    case detail::io_opcode::read_parts_at:
      return "cannot read";
    case detail::io_opcode::write_at:
    case detail::io_opcode::write_parts_at:
      return "cannot write";
    default:
      return "cannot write to the device";
  }
}
}  // namespace

std::size_t detail::file_operation::await_resume() {
  const std::int64_t done = take_result_or_errno();
  if (done >= 0) return static_cast<std::size_t>(done);
  throw_file_error(static_cast<int>(-done), what_failed(opcode), path_);
}
}  // namespace coracle

namespace coracle::detail {
template std::exception_ptr io_failure_of(file_read_operation&) noexcept;
template std::exception_ptr io_failure_of(file_write_operation&) noexcept;
template std::exception_ptr io_failure_of(file_sync_operation&) noexcept;
}  // namespace coracle::detail
