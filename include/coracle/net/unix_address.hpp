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
/// Prefer a path where other users must not connect, since its folder's permissions apply; an abstract name, which is a
/// Linux extension, is open to everyone in the network namespace, and is free again once its socket is closed.
class unix_address {
 public:
  /// In bytes, of a path or a name.
  static constexpr std::size_t most = 107;

  /// That of a socket that is not bound.
  unix_address() noexcept = default;
  /// A path. Throws std::system_error: std::errc::filename_too_long beyond `most` bytes, std::errc::invalid_argument if it
  /// is empty or has a NUL.
  explicit unix_address(std::string_view path);
  /// A name in the abstract namespace: any bytes. Throws std::errc::filename_too_long beyond `most` bytes.
  [[nodiscard]] static unix_address abstract(std::string_view name);

  [[nodiscard]] bool is_unnamed() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_abstract() const noexcept { return size_ != 0 && native_.text[0] == '\0'; }
  /// The path or the name. Valid as long as this is.
  [[nodiscard]] std::string_view text() const noexcept {
    return is_abstract() ? std::string_view{native_.text + 1, size_ - 1u}
                         : std::string_view{native_.text, size_};
  }
  /// As tools print it: a path, `@` and an abstract name, or nothing.
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const unix_address& a, const unix_address& b) noexcept {
    return a.is_abstract() == b.is_abstract() && a.text() == b.text();
  }

  // As the system takes and gives it.

  /// Of `native_size()` bytes.
  [[nodiscard]] void* native() noexcept { return &native_; }
  [[nodiscard]] const void* native() const noexcept { return &native_; }
  [[nodiscard]] std::uint32_t native_size() const noexcept;
  /// The room at native().
  [[nodiscard]] static std::uint32_t native_room() noexcept;
  /// After the system has written there. Another family makes it an unnamed one.
  void set_native_size(std::uint32_t size) noexcept;

 private:
  struct sockaddr_un_of_linux {
    std::uint16_t family;
    char text[most + 1];
  };
  sockaddr_un_of_linux native_{1 /* AF_UNIX */, {}};
  std::uint8_t size_ = 0;  // of the text, with the NUL that an abstract name begins with
};
}  // namespace coracle::net
