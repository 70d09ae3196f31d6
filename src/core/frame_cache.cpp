// src/core/frame_cache.cpp -- free frames on the way to and from the heap and other threads.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/frame_recycler.hpp>

#if CORACLE_ADDRESSES_LEAVE_BITS()
namespace coracle::detail {
inline namespace CORACLE_FRAME_LINKS() {
template void empty_lists(frame_cache&) noexcept;
template bool caches_many_frames(const frame_cache&) noexcept;
template void* allocate_from_shared<frame_cache>(std::size_t) noexcept;
template void free_large_frame<frame_cache>(void*, std::size_t) noexcept;
template void free_frame_without_room<frame_cache>(void*, std::size_t) noexcept;
template kept_memory take_back_freed(frame_cache&, void*) noexcept;
}  // namespace CORACLE_FRAME_LINKS()
}  // namespace coracle::detail
#endif
