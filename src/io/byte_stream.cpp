// SPDX-License-Identifier: MIT
#include <coracle/io/byte_stream.hpp>

namespace coracle::detail {
std::exception_ptr stream_error(std::errc code, const char* what) noexcept {
  return std::make_exception_ptr(std::system_error(std::make_error_code(code), what));
}
}  // namespace coracle::detail
