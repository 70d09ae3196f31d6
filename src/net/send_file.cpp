// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <coracle/net/send_file.hpp>

#include "../io/io_failure_of.hpp"

namespace coracle::net {
void detail::read_ahead(const readable_file& file, std::uint64_t offset, std::size_t size) noexcept {
  // Only a hint, and of no effect for a simulated file, whose descriptor the system does not know.
  ::posix_fadvise(file.native_handle(), static_cast<off_t>(offset), static_cast<off_t>(size),
                  POSIX_FADV_WILLNEED);
}
std::size_t detail::send_file_operation::await_resume() {
  return static_cast<std::size_t>(take_result("cannot send a file"));
}
}  // namespace coracle::net

namespace coracle::detail {
template std::exception_ptr io_failure_of(net::detail::send_file_operation&) noexcept;
}  // namespace coracle::detail
