// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <coracle/base/check.hpp>
#include <coracle/io/detail/transfer_count.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <string>
#include <utility>

#include "io_failure_of.hpp"
#include "io_system.hpp"
#include "owned_fd.hpp"
#include "system_error.hpp"

namespace coracle {
namespace {
[[noreturn]] void fail(int error, const char* what, int fd) {
  detail::throw_error(error, what + std::to_string(fd));
}
detail::io_descriptor_kind kind_of(int fd) {
  struct ::stat about{};
  if (::fstat(fd, &about) != 0) fail(errno, "cannot use descriptor ", fd);
  const bool is_file = S_ISREG(about.st_mode) || S_ISBLK(about.st_mode);
  return is_file ? detail::io_descriptor_kind::file : detail::io_descriptor_kind::pollable;
}
/// Returns the flags of reads and writes: a descriptor in blocking mode is polled before each of them.
int io_flags_of(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) fail(errno, "cannot use descriptor ", fd);
  return (flags & O_NONBLOCK) != 0 ? 0 : detail::poll_first;
}
stream_descriptor copy_of(io_service& service, int fd) {
  // Where the program was started without the others, the copy is not to become one of them.
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0) fail(errno, "cannot copy descriptor ", fd);
  return {service, copy};
}
}  // namespace

stream_descriptor::stream_descriptor(io_service& service, int fd) {
  CORACLE_REQUIRE(
      &detail::io_descriptor::system_of(service) == &detail::io_system::linux_system(),
      "a stream_descriptor was made for a simulated io_service, which has no such descriptors: use an "
      "io_service of the process's own system");
  owned_descriptor owner{fd};
  how_ = io_flags_of(fd);
  const detail::io_descriptor_kind kind = kind_of(fd);
  descriptor_ = detail::io_descriptor{service, std::move(owner).release(), kind};
}

stream_descriptor stream_descriptor::standard_input(io_service& service) {
  return copy_of(service, STDIN_FILENO);
}
stream_descriptor stream_descriptor::standard_output(io_service& service) {
  return copy_of(service, STDOUT_FILENO);
}
stream_descriptor stream_descriptor::standard_error(io_service& service) {
  return copy_of(service, STDERR_FILENO);
}

detail::library_task<> stream_descriptor::write_all_body(const_buffer bytes, stop_token token,
                                                         std::size_t* written) {
  std::size_t local = 0;
  std::size_t& done = detail::transfer_count(written, local, bytes.size());
  while (done != bytes.size()) {
    const std::size_t more = co_await write_some(bytes.bytes().subspan(done), token);
    done += more;
  }
}

pipe_ends make_pipe(io_service& service) {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) detail::throw_errno("cannot create a pipe");
  detail::owned_fd write_end{ends[1], "cannot create a pipe"};
  stream_descriptor read_end{service, ends[0]};
  return {std::move(read_end), {service, std::move(write_end).release()}};
}

std::size_t stream_read_operation::await_resume() {
  return static_cast<std::size_t>(take_result("cannot read from a descriptor"));
}
std::size_t stream_write_operation::await_resume() {
  return static_cast<std::size_t>(take_result("cannot write to a descriptor"));
}
void stream_wait_operation::await_resume() { take_result("cannot wait for a descriptor"); }
}  // namespace coracle

namespace coracle::detail {
template std::exception_ptr io_failure_of(stream_read_operation&) noexcept;
template std::exception_ptr io_failure_of(stream_write_operation&) noexcept;
template std::exception_ptr io_failure_of(stream_wait_operation&) noexcept;
}  // namespace coracle::detail
