// SPDX-License-Identifier: MIT
#include <coracle/exec/blocking.hpp>
#include <coracle/io/copy_file.hpp>
#include <utility>

#include "file_copier.hpp"

namespace coracle::detail {
library_task<std::uint64_t> copy_file_body(base_directory from_base, std::filesystem::path from,
                                           base_directory to_base, std::filesystem::path to,
                                           file_open_mode open_mode, filesystem::copy_progress progress) {
  CORACLE_REQUIRE(open_mode != file_open_mode::append,
                  "copy_file() with file_open_mode::append, but a copy replaces what the file contains: pass "
                  "another mode, or use read_file() and append_to_file()");
  const read_only_file source = co_await filesystem::open_read_only(from_base, std::move(from));
  // Truncated only once it is known to be another file.
  if (open_mode == file_open_mode::create_always) open_mode = file_open_mode::create_or_open;
  if (open_mode == file_open_mode::truncate_existing) open_mode = file_open_mode::open_existing;
  const write_only_file target = co_await filesystem::open_write_only(
      to_base, std::move(to), open_mode, file_buffering_mode::default_, file_copier::permissions_of(source));
  file_copier copier{source, target};
  const auto copy_piece = [&copier] { copier.copy_piece(); };
  while (!copier.is_complete()) {
    co_await blocking(copy_piece);
    if (progress) progress(copier.position());
  }
  co_return copier.position();
}
}  // namespace coracle::detail
