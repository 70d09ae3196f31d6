// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <coracle/net/unix_address.hpp>
#include <cstring>
#include <system_error>

namespace coracle::net {
namespace {
constexpr std::uint32_t size_without_text = offsetof(sockaddr_un, sun_path);

[[noreturn]] void refuse(std::errc why, std::string_view text) {
  throw std::system_error(std::make_error_code(why),
                          "cannot name a Unix socket \"" + std::string{text} + "\"");
}
}  // namespace

unix_address::unix_address(std::string_view path) {
  static_assert(sizeof native_ == sizeof(sockaddr_un) &&
                offsetof(sockaddr_un_of_linux, text) == size_without_text);
  static_assert(AF_UNIX == 1);
  if (path.size() > most) refuse(std::errc::filename_too_long, path);
  if (path.empty() || path.find('\0') != path.npos) refuse(std::errc::invalid_argument, path);
  std::memcpy(native_.text, path.data(), path.size());
  size_ = static_cast<std::uint8_t>(path.size());
}

unix_address unix_address::abstract(std::string_view name) {
  if (name.size() > most) refuse(std::errc::filename_too_long, name);
  unix_address made;
  if (!name.empty()) std::memcpy(made.native_.text + 1, name.data(), name.size());
  made.size_ = static_cast<std::uint8_t>(name.size() + 1);
  return made;
}

std::string unix_address::to_string() const {
  return is_abstract() ? '@' + std::string{text()} : std::string{text()};
}

std::uint32_t unix_address::native_size() const noexcept {
  const std::uint32_t nul_of_a_path = is_unnamed() || is_abstract() ? 0 : 1;
  return std::min(size_without_text + size_ + nul_of_a_path,
                  native_room());  // Linux also returns paths of 108 bytes
}
std::uint32_t unix_address::native_room() noexcept { return sizeof(sockaddr_un); }

void unix_address::set_native_size(std::uint32_t size) noexcept {
  const bool has_text = size > size_without_text && native_.family == AF_UNIX;
  const std::size_t length = has_text ? std::min<std::size_t>(size - size_without_text, most + 1) : 0;
  const bool is_name = length != 0 && native_.text[0] == '\0';
  size_ = static_cast<std::uint8_t>(is_name ? length : ::strnlen(native_.text, length));
}
}  // namespace coracle::net
