// examples/redis_server/append_only_file.hpp -- keeps commands, so that no kill loses one that was answered.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database.hpp"

namespace redis {
/// What follows the commands of each write: a checksum of them, as a command that changes nothing. A power
/// failure may lose any part of what was not synced, so without it the file might contain what nobody has
/// sent.
inline std::string end_mark(std::string_view commands) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char each : commands) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211U;
  std::string mark;
  put_command(mark, {"PING", std::to_string(hash)});
  return mark;
}

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
        end_(file_.size()),
        size_when_compact_(end_) {}

  void add(std::string_view commands) {
    waiting_ += commands;
    added_ += commands.size();
  }
  /// Completes when everything added so far has been written. Stopping one client does not stop the write,
  /// which also contains commands of others. After a failure, the next commit() writes the same bytes again.
  coracle::task<> commit() {
    const std::uint64_t end = added_;
    if (written_ == end) co_return;  // a compaction has the lock for long
    const auto lock = co_await mutex_.scoped_lock_async();
    while (written_ < end) {
      if (batch_.empty()) {
        batch_.swap(waiting_);
        commands_in_batch_ = batch_.size();
        batch_ += end_mark(batch_);
      }
      co_await coracle::shielded(write_batch());
    }
  }

  /// Returns true if most of the file may be about what no longer exists.
  [[nodiscard]] bool is_worth_compacting() const noexcept {
    constexpr std::uint64_t least = 1 << 20;
    return end_ > least && end_ > 2 * size_when_compact_;
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
    std::string text = data.as_commands();
    text += end_mark(text);
    const std::size_t covered = waiting_.size();
    const std::uint64_t end = added_;
    std::filesystem::path fresh = path_;
    fresh += ".new";
    auto file = co_await fs::open_write_only(io_, fresh, coracle::file_open_mode::create_always);
    co_await file.write_all(0, text);
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
    end_ = size_when_compact_ = text.size();
  }
  coracle::task<> write_batch() {
    co_await file_.write_all(end_, batch_);
    if (is_synced_) co_await file_.sync();
    end_ += batch_.size();
    written_ += commands_in_batch_;
    batch_.clear();
  }

  coracle::io_service& io_;
  const std::filesystem::path path_;
  coracle::write_only_file file_;
  const bool is_synced_;
  coracle::async_mutex mutex_;
  std::string waiting_, batch_;
  std::size_t commands_in_batch_ = 0;      // bytes, without the mark
  std::uint64_t added_ = 0, written_ = 0;  // bytes of commands, in all
  std::uint64_t end_;                      // of the file
  std::uint64_t size_when_compact_;
};

/// Takes the commands of the write at the front of `text`. Returns its size, or 0 if it is not complete.
inline std::size_t take_write(std::string_view text, std::vector<command>& commands) {
  command_reader reader{text};
  command words;
  commands.clear();
  try {
    for (std::size_t before = 0; reader.next(words); before = reader.taken()) {
      if (words.empty()) continue;
      if (words.front() != "PING") {
        commands.push_back(words);
        continue;
      }
      const std::string_view mark = text.substr(before, reader.taken() - before);
      return mark == end_mark(text.substr(0, before)) ? reader.taken() : 0;
    }
  } catch (const protocol_error&) {
  }
  return 0;
}
/// Returns true if a complete write follows the mark of one that is not.
inline bool has_complete_write(std::string_view text) {
  constexpr std::string_view begin_of_mark = "*2\r\n$4\r\nPING\r\n";
  std::vector<command> ignored;
  while (text.find(begin_of_mark) != text.npos) {
    text.remove_prefix(text.find(begin_of_mark) + begin_of_mark.size());
    const std::size_t checksum = text.find('\n') + 1;  // behind its size
    if (take_write(text.substr(text.find('\n', checksum) + 1), ignored) != 0) return true;
  }
  return false;
}

/// Commands that were answered are lost, and the server must not go on as if they had never been.
class damaged_file : public std::runtime_error {
 public:
  damaged_file(const std::string& path, std::size_t at)
      : runtime_error(
            path + " is damaged at byte " + std::to_string(at) +
            ", and complete writes follow: restore it from a copy, or drop these with truncate -s " +
            std::to_string(at) + " " + path),
        offset(at) {}

  const std::size_t offset;
};

/// Executes the commands in the file. Returns how many bytes at its end were of a write that is not
/// complete, because the server was killed or the power failed: nobody was answered, and they are cut off.
/// Throws damaged_file if others follow that write, and leaves the file as it is. Without syncs, a power
/// failure may do that damage, too.
inline coracle::task<std::size_t> replay(coracle::io_service& io, std::filesystem::path path,
                                         database& into) {
  if (!co_await coracle::filesystem::exists(io, path)) co_return std::size_t{0};
  const std::string text = co_await coracle::filesystem::read_file(io, path);
  std::string_view rest = text;
  std::vector<command> commands;
  std::string ignored;
  while (const std::size_t size = take_write(rest, commands)) {
    for (const command& each : commands) into.execute(each, 0, ignored, ignored);
    ignored.clear();
    rest.remove_prefix(size);
  }
  const std::size_t complete = text.size() - rest.size();
  if (has_complete_write(rest)) throw damaged_file(path.string(), complete);
  if (!rest.empty()) co_await coracle::filesystem::resize_file(io, path, complete);
  co_return rest.size();
}
}  // namespace redis
