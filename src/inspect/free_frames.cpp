// SPDX-License-Identifier: MIT
#include "free_frames.hpp"

#include <unistd.h>

#include <coracle/core/detail/frame_cache.hpp>
#include <type_traits>

#include "../core/shown_frames.hpp"
#include "process_memory.hpp"

namespace coracle::detail {
namespace {
/// Counts the frames in the lists of a thread. Returns false if they cannot be read.
[[nodiscard]] bool add(free_frame_counts& to, const process_memory& memory, const void* lists,
                       std::size_t bytes_of_link) {
  static_assert(std::is_trivially_copyable_v<frame_link>);
  frame_link copied[frame_lists];
  if (bytes_of_link != sizeof(frame_link)) return false;
  if (memory.read(address_of(lists), copied, sizeof copied) != sizeof copied) return false;
  for (std::size_t index = 0; index != frame_lists; ++index) {
    if (const std::size_t count = frames_in(copied[index], index))
      to.sizes[class_size(index)].in_threads += count;
  }
  return true;
}

/// Counts what is in the depot. A list that is taken while it is counted is left out.
void add_for_any(free_frame_counts& to, const process_memory& memory) {
  for (std::size_t index = first_shared; index != frame_lists; ++index) {
    const std::size_t place = index - first_shared;
    const frame_link* const first = frames_for_others.first(place);
    frame_link copied;
    if (!first || memory.read(address_of(first), &copied, sizeof copied) != sizeof copied) continue;
    if (frames_for_others.first(place) == first) to.sizes[class_size(index)].for_any += copied.room() + 1;
  }
}
}  // namespace

free_frame_counts count_free_frames() {
  free_frame_counts found;
  const process_memory memory(::getpid());
  visit_shown_frames([&](const void* lists, std::size_t bytes_of_link) {
    if (!add(found, memory, lists, bytes_of_link)) ++found.threads_not_read;
  });
  add_for_any(found, memory);
  return found;
}
}  // namespace coracle::detail
