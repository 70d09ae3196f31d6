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
  /// `is_synced`: whether commands also survive a power failure, which takes a sync for each write.
  append_only_file(coracle::write_only_file file, bool is_synced)
      : file_(std::move(file)), is_synced_(is_synced), added_(file_.size()), written_(added_) {}

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

 private:
  coracle::task<> write_batch() {
    co_await file_.write_all(written_, batch_.data(), batch_.size());
    if (is_synced_) co_await file_.sync();
    written_ += batch_.size();
    batch_.clear();
  }

  coracle::write_only_file file_;
  const bool is_synced_;
  coracle::async_mutex mutex_;
  std::string waiting_, batch_;
  std::uint64_t added_, written_;
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
