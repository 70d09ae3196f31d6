// tests/support/inert_io_system.hpp -- a system and a backend without descriptors, as bases for tests.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "../../src/io/io_backend.hpp"
#include "../../src/io/io_system.hpp"

namespace coracle_test {
/// Derived classes provide the clocks and create a backend.
class inert_io_system : public coracle::detail::io_system {
 public:
  int open(const std::filesystem::path&, int) noexcept override { return -ENOSYS; }
  int status(int, struct ::stat&) noexcept override { return -ENOSYS; }
  int set_size(int, std::uint64_t) noexcept override { return -ENOSYS; }
  int lock(int, int) noexcept override { return -ENOSYS; }
  int open_socket(int, int) noexcept override { return -ENOSYS; }
  int bind(int, const sockaddr*, socklen_t) noexcept override { return -ENOSYS; }
  void reuse_address(int) noexcept override {}
  int listen(int, int) noexcept override { return -ENOSYS; }
  int local_address(int, sockaddr_storage&) noexcept override { return -ENOSYS; }
  int shut_down(int, int) noexcept override { return -ENOSYS; }
  int dissolve(int) noexcept override { return -ENOSYS; }
  int join_datagrams(int) noexcept override { return -ENOSYS; }
  int duplicate(int) noexcept override { return -ENOSYS; }
  void close(int) noexcept override {}
  int open_watcher() noexcept override { return -ENOSYS; }
  int watch(int, const char*, std::uint32_t) noexcept override { return -ENOSYS; }
  int unwatch(int, int) noexcept override { return -ENOSYS; }
  int open_directory(int, const char*, bool) noexcept override { return -ENOSYS; }
  std::int64_t read_names(int, void*, std::size_t) noexcept override { return -ENOSYS; }
  int status_of_name(int, const char*, struct ::statx&) noexcept override { return -ENOSYS; }
  std::int64_t read_link(int, const char*, char*, std::size_t) noexcept override { return -ENOSYS; }
  int share_blocks(int, int) noexcept override { return -ENOSYS; }
  std::int64_t copy_range(int, int, std::uint64_t, std::size_t) noexcept override { return -ENOSYS; }
  std::int64_t seek(int, std::uint64_t, int) noexcept override { return -ENOSYS; }
  std::int64_t read_at(int, void*, std::size_t, std::uint64_t) noexcept override { return -ENOSYS; }
  std::int64_t write_at(int, const void*, std::size_t, std::uint64_t) noexcept override { return -ENOSYS; }

 protected:
  ~inert_io_system() = default;
};

/// Derived classes provide poll(), wake() and set_timer().
class inert_io_backend : public coracle::detail::io_backend {
 public:
  explicit inert_io_backend(coracle::detail::io_system& system) noexcept
      : io_backend(system, {"inert", {}}) {}
  coracle::detail::io_record& attach(int, coracle::detail::io_descriptor_kind) override { std::abort(); }
  void detach(coracle::detail::io_record&) noexcept override {}
  std::size_t attached() noexcept override { return 0; }
  bool submit(coracle::detail::io_request&) noexcept override { return false; }
  void deliver(coracle::detail::io_request&) noexcept override {}
  void cancel(coracle::detail::io_request&) noexcept override {}
  bool withdraw(coracle::detail::io_request&) noexcept override { return false; }
};
}  // namespace coracle_test
