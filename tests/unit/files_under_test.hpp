// tests/unit/files_under_test.hpp -- the files of a test that runs with the system's and with those of a
// simulated host, and how an operation on paths failed.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../support/temporary_folder.hpp"
#include "service_under_test.hpp"

namespace coracle_test {
/// A folder of the system with an empty folder `d` in it.
struct system_files {
  system_files() { std::filesystem::create_directory(folder / "d"); }
  std::filesystem::path operator/(const std::string& name) const { return folder / name; }
  static std::string text_of(const std::filesystem::path& path) { return coracle_test::text_of(path); }
  static void write_text(const std::filesystem::path& path, std::string_view text) {
    coracle_test::write_text(path, text);
  }
  static void make_folders(const std::filesystem::path& path) { std::filesystem::create_directories(path); }
  temporary_folder folder;
  coracle::io_service io;
};

/// The disk of a simulated host, likewise.
struct simulated_files : simulated_machine {
  explicit simulated_files(std::uint64_t seed = 1) : simulated_machine(seed) {
    host.disk().create_directories("d");
  }
  std::filesystem::path operator/(const std::string& name) const { return name; }
  [[nodiscard]] std::string text_of(const std::filesystem::path& path) {
    return host.disk().contents(path.native()).value_or("none");
  }
  void write_text(const std::filesystem::path& path, std::string_view text) {
    host.disk().put(path.native(), text);
  }
  void make_folders(const std::filesystem::path& path) { host.disk().create_directories(path.native()); }
  coracle::io_service& io = host.io();
};

/// Either of the two. A test creates one, and runs once with each.
class files_under_test {
 public:
  files_under_test() : io(is_simulated_run() ? simulated_.emplace().io : system_.emplace().io) {}
  files_under_test(const files_under_test&) = delete;
  files_under_test& operator=(const files_under_test&) = delete;
  std::filesystem::path operator/(const std::string& name) const {
    return system_ ? *system_ / name : *simulated_ / name;
  }
  [[nodiscard]] std::string text_of(const std::filesystem::path& path) {
    return system_ ? system_->text_of(path) : simulated_->text_of(path);
  }
  void write_text(const std::filesystem::path& path, std::string_view text) {
    system_ ? system_->write_text(path, text) : simulated_->write_text(path, text);
  }
  /// Creates a folder, and those that lead to it.
  void make_folders(const std::filesystem::path& path) {
    system_ ? system_->make_folders(path) : simulated_->make_folders(path);
  }
  [[nodiscard]] bool is_simulated() const noexcept { return simulated_.has_value(); }

 private:
  std::optional<system_files> system_;
  std::optional<simulated_files> simulated_;

 public:
  coracle::io_service& io;
};

/// What the error says that `work` ends with; empty if it succeeds.
template <class Awaitable>
coracle::task<std::string> failure_of(Awaitable work) {
  std::string text;
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const std::system_error& error) {
    text = error.what();
  } catch (const coracle::operation_cancelled&) {
    text = "cancelled";
  }
  co_return text;
}
}  // namespace coracle_test
