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
  std::filesystem::path operator/(const char* name) const { return folder / name; }
  static std::string text_of(const std::filesystem::path& path) { return coracle_test::text_of(path); }
  static void write_text(const std::filesystem::path& path, std::string_view text) {
    coracle_test::write_text(path, text);
  }
  temporary_folder folder;
  coracle::io_service io;
};

/// The disk of a simulated host.
struct simulated_files : simulated_machine {
  using simulated_machine::simulated_machine;
  std::filesystem::path operator/(const char* name) const { return name; }
  [[nodiscard]] std::string text_of(const std::filesystem::path& path) {
    return host.disk().contents(path.native()).value_or("none");
  }
  void write_text(const std::filesystem::path& path, std::string_view text) {
    host.disk().put(path.native(), text);
  }
  coracle::io_service& io = host.io();
};

/// Either of the two. A test creates one, and runs once with each.
class files_under_test {
 public:
  files_under_test() : io(is_simulated_run() ? simulated_.emplace().io : system_.emplace().io) {}
  files_under_test(const files_under_test&) = delete;
  files_under_test& operator=(const files_under_test&) = delete;
  std::filesystem::path operator/(const char* name) const {
    return system_ ? *system_ / name : *simulated_ / name;
  }
  [[nodiscard]] std::string text_of(const std::filesystem::path& path) {
    return system_ ? system_->text_of(path) : simulated_->text_of(path);
  }
  void write_text(const std::filesystem::path& path, std::string_view text) {
    system_ ? system_->write_text(path, text) : simulated_->write_text(path, text);
  }

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
