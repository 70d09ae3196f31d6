// SPDX-License-Identifier: MIT
// The free frames that threads keep, by their size (core/detail/frame_cache.hpp).
#pragma once
#include <cstddef>
#include <map>

namespace coracle::detail {
struct free_frame_counts {
  struct of_size {
    std::size_t in_threads = 0;  ///< each can be used by the thread that keeps it
    std::size_t for_any = 0;     ///< can be used by any thread
  };
  std::map<std::size_t, of_size> sizes;  ///< by the bytes of a frame
  std::size_t threads_not_read = 0;      ///< compiled with AddressSanitizer if this is not, or vice versa
};

/// Counts the frames while other threads allocate and free some: each number is that of some moment. The
/// kernel copies what is read, so that it cannot fault.
/// Threads     any. A thread that ends, or keeps its first frame, waits for this call.
/// Exceptions  std::bad_alloc.
[[nodiscard]] free_frame_counts count_free_frames();
}  // namespace coracle::detail
