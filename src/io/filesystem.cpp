// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <coracle/exec/blocking.hpp>
#include <coracle/io/filesystem.hpp>
#include <cstring>
#include <string>
#include <system_error>

#include "io_failure_of.hpp"
#include "io_system.hpp"
#include "path_in_message.hpp"
#include "status_of.hpp"
#include "system_error.hpp"

namespace coracle::detail {
namespace {
static_assert(removes_directory == AT_REMOVEDIR);

bool has_nul(const std::filesystem::path& path) noexcept {
  return path.native().find('\0') != std::string::npos;
}

struct wording {
  const char* verb;
  const char* between;  // before the second path; null: there is none
};
wording wording_of(io_opcode code) noexcept {
  switch (code) {
    case io_opcode::open:
      return {"cannot open", nullptr};
    case io_opcode::status:
      return {"cannot ask for the status of", nullptr};
    case io_opcode::rename:
      return {"cannot rename", "to"};
    case io_opcode::link:
      return {"cannot link", "to"};
    case io_opcode::symlink:
      return {"cannot make a symbolic link to", "at"};
    case io_opcode::make_folder:
      return {"cannot create the directory", nullptr};
    default:
      return {"cannot remove", nullptr};
  }
}

}  // namespace

// ---- path_operation ------------------------------------------------------------------------------------

std::filesystem::path path_base::in_full(std::filesystem::path path) const {
  return opened_path_ ? *opened_path_ / path : path;
}

path_arguments::path_arguments(const path_base& base, std::filesystem::path path, std::filesystem::path other)
    : base_(base), path_(std::move(path)), other_path_(std::move(other)) {
  if (!base_.opened()) current_ = io_descriptor{*base_.service(), AT_FDCWD, io_descriptor_kind::file};
}

path_operation::path_operation(const path_base& base, io_opcode code, std::filesystem::path path,
                               std::filesystem::path other, std::size_t bytes, int call_flags,
                               stop_token token)
    : path_arguments(base, std::move(path), std::move(other)),
      io_operation(descriptor(), code, static_cast<void*>(nullptr), bytes, std::move(token)) {
  flags = call_flags;
  if (has_nul(path_) || has_nul(other_path_)) result = refused;
}

void path_operation::refer_to_paths() noexcept {
  buffer = const_cast<char*>(path_.c_str());
  if (wording_of(opcode).between) address = const_cast<char*>(other_path_.c_str());
}

std::int64_t path_operation::take_path_result() {
  const std::int64_t taken = take_result_or_errno();
  if (taken < 0) fail(static_cast<int>(-taken));
  return taken;
}

void path_operation::fail(int error) const {
  const wording words = wording_of(opcode);
  const auto shown = [&](const std::filesystem::path& path) {
    return " " + path_in_message(base_.in_full(path));
  };
  std::string what = words.verb;
  what += opcode == io_opcode::symlink ? " " + path_in_message(path_) : shown(path_);  // not looked up
  if (words.between) what += std::string(" ") + words.between + shown(other_path_);
  if (has_nul(path_) || has_nul(other_path_)) what += ", a path with a NUL in it";
  throw_error(error, what);
}

// ---- the others ----------------------------------------------------------------------------------------

status_path_operation::status_path_operation(const base_directory& base, std::filesystem::path path,
                                             bool follows_symlink, stop_token token)
    : path_operation(base, io_opcode::status, std::move(path), {}, STATX_BASIC_STATS,
                     follows_symlink ? 0 : AT_SYMLINK_NOFOLLOW, std::move(token)) {
  static_assert(sizeof(struct statx) == record_size);
}
open_path_operation::open_path_operation(const base_directory& base, std::filesystem::path path,
                                         const open_arguments& how, std::filesystem::perms permissions,
                                         stop_token token)
    : path_operation(base, io_opcode::open, std::move(path), {}, static_cast<std::size_t>(permissions),
                     how.flags, std::move(token)),
      how_(how) {}
std::error_code open_path_operation::await_error() noexcept {
  if (const std::error_code failed = path_operation::await_error()) return failed;
  try {
    opened_ = put_into_use(static_cast<int>(result));
    return {};
  } catch (const std::system_error& failure) {
    result = -failure.code().value();
    return failure.code();
  } catch (const std::bad_alloc&) {
    result = -ENOMEM;
    return std::make_error_code(std::errc::not_enough_memory);
  }
}
io_descriptor open_path_operation::take_descriptor() {
  if (opened_.is_open()) return std::move(opened_);
  return put_into_use(static_cast<int>(take_path_result()));
}
io_descriptor open_path_operation::put_into_use(int fd) {
  io_descriptor opened{*base_.service(), fd, how_.kind};  // first: it closes what in_full() would leave open
  return detail::put_into_use(std::move(opened), base_.in_full(path_), how_);
}

namespace {
std::filesystem::path symlink_target(const base_directory& base, const std::filesystem::path& link) {
  const auto fail = [&](int error, const char* why) {
    throw_error(error, "cannot read the symbolic link " + path_in_message(base.in_full(link)) + why);
  };
  if (has_nul(link)) fail(EINVAL, ", a path with a NUL in it");
  char target[PATH_MAX];
  const int fd = base.opened() ? base.opened()->native_handle() : AT_FDCWD;
  io_system& system = io_descriptor::system_of(*base.service());
  const std::int64_t size = system.read_link(fd, link.c_str(), target, sizeof target);
  if (size < 0) fail(static_cast<int>(-size), "");
  return std::string(target, static_cast<std::size_t>(size));
}
}  // namespace
library_task<std::filesystem::path> read_symlink_body(base_directory base, std::filesystem::path link) {
  const auto call = [&] { return symlink_target(base, link); };
  std::filesystem::path target = co_await blocking(call);
  co_return target;
}

library_task<> resize_file_body(base_directory base, std::filesystem::path path, std::uint64_t size) {
  write_only_file file =
      co_await filesystem::open_write_only(base, std::move(path), file_open_mode::open_existing);
  file.set_size(size);
}

template std::exception_ptr io_failure_of(filesystem::change_operation&) noexcept;
template std::exception_ptr io_failure_of(filesystem::status_operation&) noexcept;
template std::exception_ptr io_failure_of(filesystem::exists_operation&) noexcept;
template std::exception_ptr io_failure_of(filesystem::open_operation<read_only_file>&) noexcept;
template std::exception_ptr io_failure_of(filesystem::open_operation<write_only_file>&) noexcept;
template std::exception_ptr io_failure_of(filesystem::open_operation<read_write_file>&) noexcept;
template std::exception_ptr io_failure_of(filesystem::open_operation<directory>&) noexcept;
}  // namespace coracle::detail

namespace coracle::filesystem {
void change_operation::await_resume() { take_path_result(); }
file_status status_operation::await_resume() {
  take_path_result();
  struct statx its;
  std::memcpy(&its, record_, sizeof its);
  return detail::status_of(its);
}
bool exists_operation::await_resume() {
  const std::int64_t taken = take_result_or_errno();
  if (taken == -ENOENT || taken == -ENOTDIR) return false;
  if (taken < 0) fail(static_cast<int>(-taken));
  return true;
}
}  // namespace coracle::filesystem
