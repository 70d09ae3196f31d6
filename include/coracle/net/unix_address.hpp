// coracle/net/unix_address.hpp -- the address of a Unix socket: a path, or an abstract name.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::net {
/// Names a Unix socket of this machine.
///
///     const coracle::net::unix_address at{"/run/app/control"};
///     const auto hidden = coracle::net::unix_address::abstract("app-control");
///
/// Prefer a path where other users must not connect, since the permissions of its directory apply. An
/// abstract name, a Linux extension, is open to everyone in the network namespace, and becomes free once its
/// socket is closed.
class unix_address {
 public:
  /// The longest path or name, in bytes.
  static constexpr std::size_t most = 107;

  /// The address of a socket that is not bound.
  unix_address() noexcept = default;
  /// A path. Throws std::system_error: std::errc::filename_too_long beyond `most` bytes,
  /// std::errc::invalid_argument if it is empty or contains a NUL.
  explicit unix_address(std::string_view path);
  /// A name in the abstract namespace: any bytes. Throws std::errc::filename_too_long beyond `most` bytes.
  [[nodiscard]] static unix_address abstract(std::string_view name);

  [[nodiscard]] bool is_unnamed() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_abstract() const noexcept { return size_ != 0 && native_.text[0] == '\0'; }
  /// Returns the path or the name. Valid as long as this object.
  [[nodiscard]] std::string_view text() const noexcept {
    return is_abstract() ? std::string_view{native_.text + 1, size_ - 1u}
                         : std::string_view{native_.text, size_};
  }
  /// Returns the address as tools print it: a path, `@` and an abstract name, or nothing.
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const unix_address& a, const unix_address& b) noexcept {
    return a.is_abstract() == b.is_abstract() && a.text() == b.text();
  }

  // The representation that system calls use.

  /// Of `native_size()` bytes.
  [[nodiscard]] void* native() noexcept { return &native_; }
  [[nodiscard]] const void* native() const noexcept { return &native_; }
  [[nodiscard]] std::uint32_t native_size() const noexcept;
  /// Returns the capacity of native().
  [[nodiscard]] static std::uint32_t native_room() noexcept;
  /// Called after the system has written there. Another address family makes it an unnamed address.
  void set_native_size(std::uint32_t size) noexcept;

 private:
  struct sockaddr_un_of_linux {
    std::uint16_t family;
    char text[most + 1];
  };
  sockaddr_un_of_linux native_{1 /* AF_UNIX */, {}};
  std::uint8_t size_ = 0;  // of the text, including the leading NUL of an abstract name
};
}  // namespace coracle::net
