// SPDX-License-Identifier: MIT
#include <coracle/exec/blocking.hpp>
#include <coracle/io/walk_directory.hpp>
#include <span>
#include <utility>

#include "directory_walk.hpp"

namespace coracle::filesystem {
async_generator<const directory_entry> walk_directory(base_directory base, std::filesystem::path path,
                                                      walk_options options) {
  coracle::detail::directory_walk walk{base, std::move(path), options};
  const auto next_batch = [&walk](const stop_token& stop) { return walk.next_batch(stop); };
  while (!walk.has_ended()) {
    const std::span<const directory_entry> batch = co_await blocking(next_batch);
    for (const directory_entry& entry : batch) co_yield entry;
  }
}

async_generator<const directory_entry> list_directory(base_directory base, std::filesystem::path path,
                                                      walk_options options) {
  options.max_depth = 1;
  return walk_directory(base, std::move(path), options);
}
}  // namespace coracle::filesystem
