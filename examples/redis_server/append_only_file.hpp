// examples/redis_server/append_only_file.hpp -- keeps commands, so that no kill loses one that was answered.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "database.hpp"

namespace redis {
/// Commands that wait at the same time are written, and synced, together.
class append_only_file {
 public:
  /// `file` is the open file at `path`. `is_synced`: whether commands also survive a power failure, which
  /// takes a sync for each write.
  append_only_file(coracle::io_service& io, std::filesystem::path path, coracle::write_only_file file,
                   bool is_synced)
      : io_(io),
        path_(std::move(path)),
        file_(std::move(file)),
        is_synced_(is_synced),
        added_(file_.size()),
        written_(added_),
        size_when_compact_(added_) {}

  void add(std::string_view commands) {
    waiting_ += commands;
    added_ += commands.size();
  }
  /// Completes when everything added so far has been written. Stopping one client does not stop the write,
  /// which also contains commands of others. After a failure, the next commit() writes the same bytes again.
  coracle::task<> commit() {
    const std::uint64_t end = added_;
    const auto lock = co_await mutex_.scoped_lock_async();
    while (written_ < end) {
      if (batch_.empty()) batch_.swap(waiting_);
      co_await coracle::shielded(write_batch());
    }
  }

  /// Returns true if most of the file may be about what no longer exists.
  [[nodiscard]] bool is_worth_compacting() const noexcept {
    constexpr std::uint64_t least = 1 << 20;
    return written_ - begin_ > least && written_ - begin_ > 2 * size_when_compact_;
  }
  /// Replaces the file by one with the commands that create what `data` holds. Requires: `data` has executed
  /// all commands that were added, and no others. A kill at any moment leaves the old file or the new one.
  /// Meanwhile commits wait. After an error nothing more must be added.
  coracle::task<> compact(const database& data) {
    const auto lock = co_await mutex_.scoped_lock_async();
    co_await coracle::shielded(replace_by(data));
  }

 private:
  coracle::task<> replace_by(const database& data) {
    namespace fs = coracle::filesystem;
    const std::string text = data.as_commands();
    const std::size_t covered = waiting_.size();
    const std::uint64_t end = added_;
    std::filesystem::path fresh = path_;
    fresh += ".new";
    auto file = co_await fs::open_write_only(io_, fresh, coracle::file_open_mode::create_always);
    co_await file.write_all(0, text.data(), text.size());
    co_await file.sync();
    co_await fs::rename(io_, fresh, path_);
    file_ = std::move(file);
    std::filesystem::path parent = path_.parent_path();
    if (parent.empty()) parent = ".";
    const coracle::directory folder = co_await fs::open_directory(io_, parent);
    co_await folder.sync();
    waiting_.erase(0, covered);
    batch_.clear();
    written_ = end;
    begin_ = end - text.size();
    size_when_compact_ = text.size();
  }
  coracle::task<> write_batch() {
    co_await file_.write_all(written_ - begin_, batch_.data(), batch_.size());
    if (is_synced_) co_await file_.sync();
    written_ += batch_.size();
    batch_.clear();
  }

  coracle::io_service& io_;
  const std::filesystem::path path_;
  coracle::write_only_file file_;
  const bool is_synced_;
  coracle::async_mutex mutex_;
  std::string waiting_, batch_;
  // Positions in all that was ever added. The file begins at begin_.
  std::uint64_t added_, written_, begin_ = 0;
  std::uint64_t size_when_compact_;
};

/// Executes the commands in the file. If a server was killed, the file may end in the middle of a command,
/// which was never answered: it is cut off.
inline coracle::task<> replay(coracle::io_service& io, std::filesystem::path path, database& into) {
  if (!co_await coracle::filesystem::exists(io, path)) co_return;
  const std::string text = co_await coracle::filesystem::read_file(io, path);
  command_reader commands{text};
  command words;
  std::string ignored;
  while (commands.next(words)) {
    if (!words.empty()) into.execute(words, 0, ignored, ignored);
    ignored.clear();
  }
  if (commands.taken() != text.size()) co_await coracle::filesystem::resize_file(io, path, commands.taken());
}
}  // namespace redis
