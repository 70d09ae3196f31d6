// SPDX-License-Identifier: MIT
// Where an inspector listens.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>

#include <string>

namespace coracle::detail {
class inspector_descriptor {
 public:
  explicit inspector_descriptor(int number = -1) noexcept : number_(number) {}
  inspector_descriptor(inspector_descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  inspector_descriptor& operator=(inspector_descriptor&& other) noexcept;
  ~inspector_descriptor();
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

/// A listening socket. One in the file system has mode 0600 from the first instant on.
class inspector_endpoint {
 public:
  /// Throws std::system_error, or std::invalid_argument.
  explicit inspector_endpoint(const std::string& where);
  inspector_endpoint(const inspector_endpoint&) = delete;
  inspector_endpoint& operator=(const inspector_endpoint&) = delete;

  void remove_file() noexcept;
  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  /// Returns the token that each request must have; empty for a socket in the file system.
  [[nodiscard]] const std::string& token() const noexcept { return token_; }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

 private:
  void listen_at_path(const std::string& path);
  void listen_at_address(const std::string& where);

  inspector_descriptor socket_;
  std::string token_, url_, path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};
}  // namespace coracle::detail
