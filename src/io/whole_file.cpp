// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <coracle/base/atomic.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/io/whole_file.hpp>
#include <cstdint>
#include <exception>

namespace coracle::detail {
namespace {
/// Returns a file name for the replacement of `path`, different for each call.
std::string replacement_name(const std::filesystem::path& path) {
  constexpr std::size_t most_of_name = 200;  // of the 255 bytes available
  //   [N1] one more  relaxed  orders nothing: only the number matters
  static atomic<std::uint32_t> number{0};
  return '.' + path.filename().native().substr(0, most_of_name) + "." + std::to_string(::getpid()) + "." +
         std::to_string(number.fetch_add(1, memory_order_relaxed)); /*N1*/
}
}  // namespace

library_task<std::string> read_file_body(base_directory base, std::filesystem::path path) {
  const read_only_file file = co_await filesystem::open_read_only(base, std::move(path));
  // The size is a hint: the system generates some files as they are read, and others grow.
  constexpr std::size_t least = 4096;
  std::string text(file.size() < least ? least : file.size() + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const std::size_t got = co_await file.read(size, text.data() + size, text.size() - size);
    size += got;
    if (got == 0) break;
    if (size == text.size()) text.resize(2 * size);
  }
  text.resize(size);
  co_return text;
}

library_task<> write_file_body(base_directory base, std::filesystem::path path, std::string_view text,
                               file_open_mode mode, std::filesystem::perms permissions) {
  write_only_file file = co_await filesystem::open_write_only(base, std::move(path), mode,
                                                              file_buffering_mode::default_, permissions);
  co_await file.write_all(0, text.data(), text.size());
}

library_task<> write_atomically_body(base_directory base, std::filesystem::path path, std::string_view text,
                                     std::filesystem::perms permissions) {
  std::filesystem::path parent = path.parent_path();
  if (parent.empty()) parent = ".";
  const directory folder = co_await filesystem::open_directory(base, std::move(parent));
  std::string name = replacement_name(path);
  while (co_await filesystem::exists(folder, name)) name = replacement_name(path);
  write_only_file file = co_await filesystem::open_write_only(folder, name, file_open_mode::create_new,
                                                              file_buffering_mode::default_, permissions);
  std::exception_ptr failure;
  try {
    co_await throwing(file.write_all(0, text.data(), text.size()));
    co_await throwing(file.sync());
    co_await throwing(filesystem::rename(folder, name, path.filename()));
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) {
    co_await shielded(folder.sync());
    co_return;
  }
  try {
    co_await shielded(filesystem::remove(folder, name));
  } catch (...) {
  }  // the first failure matters more
  std::rethrow_exception(failure);
}
}  // namespace coracle::detail
