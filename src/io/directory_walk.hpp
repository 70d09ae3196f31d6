// src/io/directory_walk.hpp -- the blocking part of walk_directory().
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/stop.hpp>
#include <coracle/io/directory.hpp>
#include <coracle/io/directory_entry.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::detail {
class io_system;

/// Owns a descriptor of a system that belongs to no io_service.
class system_descriptor {
 public:
  explicit system_descriptor(io_system& its_system) noexcept : system_(its_system) {}
  system_descriptor(const system_descriptor&) = delete;
  system_descriptor& operator=(const system_descriptor&) = delete;
  ~system_descriptor() { reset(-1); }
  /// Takes ownership of `fd`, or of none if it is negative. Closes what it had.
  void reset(int fd) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  io_system& system_;
  int fd_ = -1;
};

/// Reads a tree of directories, a batch of entries a call. Two descriptors are open at a time, whatever the
/// depth: each directory is opened by its path from the first one, in which no symbolic link is followed.
class directory_walk {
 public:
  directory_walk(const base_directory& base, std::filesystem::path path, const walk_options& options);

  /// Returns the next entries, which the next call overwrites. Blocks. Returns early if stop is requested.
  /// Throws std::system_error, once the entries before the failure have been returned; std::bad_alloc.
  std::span<const directory_entry> next_batch(const stop_token& stop);
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  struct subdirectory {
    std::string path;
    std::size_t depth;
  };
  /// Returns the descriptor of the directory whose names are read.
  [[nodiscard]] int current() const noexcept { return below_.is_open() ? below_.get() : first_.get(); }
  void open_first();
  void fill(const stop_token& stop);
  bool open_next();
  bool read_names();
  void add_next_entry();
  bool ask_status(const char* name, file_status& status);
  [[noreturn]] void fail(int error, std::string_view path) const;

  static constexpr std::size_t batch_size = 512;

  io_system& system_;
  const path_base base_;
  const std::filesystem::path path_;
  const walk_options options_;
  system_descriptor first_, below_;
  std::uint64_t device_ = 0;
  std::vector<subdirectory> pending_;
  subdirectory here_{{}, 0};  // the path ends in a slash, unless it is empty
  std::unique_ptr<std::byte[]> names_;
  std::size_t names_size_ = 0, names_read_ = 0;
  std::vector<directory_entry> entries_;  // reused by each batch
  std::size_t count_ = 0;
  std::exception_ptr failure_;
  bool has_ended_ = false;
};
}  // namespace coracle::detail
