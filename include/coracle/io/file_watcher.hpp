// coracle/io/file_watcher.hpp -- await changes of files and directories.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/core/detail/library_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace coracle {
/// What may happen to a file or directory. Flags: combine them with `|`.
enum class file_change : std::uint32_t {
  none = 0,
  modified = 0x2,            ///< the file was written or truncated
  attributes = 0x4,          ///< permissions, owner, times or number of links
  closed_after_write = 0x8,  ///< closed by a process that could write to it
  moved_from = 0x40,         ///< an entry of the directory was renamed: its old name
  moved_to = 0x80,           ///< likewise: its new name
  created = 0x100,           ///< an entry of the directory
  removed = 0x200,           ///< an entry of the directory
  self_removed = 0x400,      ///< the watched file or directory itself
  self_moved = 0x800,        ///< likewise
  all = 0xfce,               ///< each of those above

  // Reported in any case.
  unmounted = 0x2000,   ///< the file system
  overflow = 0x4000,    ///< events were lost: look at everything that is watched
  watch_ended = 0x8000  ///< by file_watcher::remove(), or because the file is gone: its last event
};
[[nodiscard]] constexpr file_change operator|(file_change a, file_change b) noexcept {
  return static_cast<file_change>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr file_change operator&(file_change a, file_change b) noexcept {
  return static_cast<file_change>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}

/// Identifies a watched file or directory of a file_watcher.
enum class file_watch : int { none = -1 };

/// A change that a file_watcher reports.
struct file_event {
  file_watch watch = file_watch::none;  ///< none for an overflow
  file_change what = file_change::none;
  bool is_directory = false;  ///< whether it concerns a directory
  /// The same for both events of a rename, if both names are watched; otherwise 0.
  std::uint32_t rename_id = 0;
  /// The name of the entry in a watched directory; otherwise empty. Valid until the next event is awaited.
  std::string_view name;

  [[nodiscard]] bool is(file_change one) const noexcept { return (what & one) != file_change::none; }
};

/// Reports changes of files and directories: inotify(7).
///
///     coracle::file_watcher watcher{io};
///     watcher.add("settings.toml", coracle::file_change::closed_after_write);
///     for (;;) {
///       const coracle::file_event event = co_await watcher.next();
///       if (event.is(coracle::file_change::closed_after_write | coracle::file_change::overflow)) reload();
///     }
///
/// A watch belongs to the file, not to its name: a program that replaces a file, as write_atomically() does,
/// ends the watch of the old one. Watch the directory to see such a file. Directories below a watched one are
/// not watched, and changes that another machine makes in a network file system are not seen.
/// Order         that of the changes. Equal events in a row may be reported as one.
/// Resumes on    as every I/O operation: the executor on which it was awaited; outside any executor, the
///               thread that runs the io_service.
/// Cancellation  ends the wait immediately; no event is lost.
/// Exceptions    std::system_error, operation_cancelled, std::bad_alloc. The constructor: too_many_files_open
///               at the user's limit of watchers (fs.inotify.max_user_instances).
/// Threads       next() by one coroutine at a time; add() and remove() on any thread. The io_service must
///               outlive it.
/// Cost          a descriptor and 4 KiB of buffer, and the kernel's memory for each watch. Waiting for an
///               event costs one read for all those that have come. If the events are not read, the kernel
///               drops those beyond fs.inotify.max_queued_events, usually 16384, and reports an overflow.
class file_watcher {
 public:
  explicit file_watcher(io_service& service);

  /// Starts watching; blocks as stat(2) does. A symbolic link is followed. If the file is watched already,
  /// under whatever name, returns the same watch, which now reports these changes. Throws std::system_error
  /// with the path: no_space_on_device at the user's limit of watches (fs.inotify.max_user_watches).
  file_watch add(const std::filesystem::path& path, file_change changes = file_change::all);
  /// Ends a watch. Events that have happened are still reported, and then `watch_ended`. Does nothing if the
  /// watch has ended.
  void remove(file_watch watch) noexcept;

  /// Awaitable of the next event. `token` replaces the inherited stop token.
  CORACLE_CORO_WRAPPER()
  task<file_event> next(stop_token token = {}) { return next_body(std::move(token)); }
  /// The same as a generator, for a stream: it never ends. A stop request ends it with operation_cancelled.
  async_generator<const file_event> events();

 private:
  detail::library_task<file_event> next_body(stop_token token);
  file_event take() noexcept;

  static constexpr std::size_t buffer_size = 4096;
  alignas(8) std::array<std::byte, buffer_size> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // the events that have been read
  bool is_awaited_ = false;
  stream_descriptor descriptor_;
};

}  // namespace coracle
