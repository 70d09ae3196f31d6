// src/core/shown_frames.hpp -- the lists of free frames that threads have shown.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>

namespace coracle::detail {
/// Calls `visit` with the lists of each thread that keeps frames: with their address, and the size of a link
/// where the thread keeps its first frame, which AddressSanitizer changes. The thread may change the lists
/// meanwhile.
/// Threads     any. A thread that ends, or keeps its first frame, waits for this call.
/// Exceptions  those of `visit`.
void visit_shown_frames(const std::function<void(const void* lists, std::size_t bytes_of_link)>& visit);
}  // namespace coracle::detail
