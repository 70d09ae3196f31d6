// src/core/frame_cache.cpp -- free frames on the way to and from the heap and other threads.
// SPDX-License-Identifier: MIT
#include <coracle/base/thread.hpp>
#include <coracle/core/detail/frame_recycler.hpp>
#include <mutex>

#include "shown_frames.hpp"

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

namespace coracle::detail {
#if defined(CORACLE_MODEL)
/// A thread of the model checker's keeps frames for itself alone.
void show_free_frames(const void*, std::size_t) noexcept {}
#else
namespace {
// Guards the list.
constinit mutex lock_of_shown;

/// The lists of a thread. It is an element of a list itself while it refers to some.
class shown_lists {
 public:
  constexpr shown_lists() noexcept = default;
  shown_lists(const shown_lists&) = delete;
  shown_lists& operator=(const shown_lists&) = delete;
  ~shown_lists() {
    if (!lists_) return;
    const std::lock_guard lock{lock_of_shown};
    *link_ = next_;
    if (next_) next_->link_ = link_;
  }

  void show(const void* lists, std::size_t bytes_of_link) noexcept {
    if (lists_) return;
    lists_ = lists;
    bytes_of_link_ = bytes_of_link;
    const std::lock_guard lock{lock_of_shown};
    become_first(first_);
  }
  /// In a child process, where no other thread exists.
  void become_only() noexcept {
    first_ = nullptr;
    if (lists_) become_first(nullptr);
  }
  /// Requires: lock_of_shown is held.
  template <class Visit>
  static void visit_all(const Visit& visit) {
    for (const shown_lists* each = first_; each; each = each->next_)
      visit(each->lists_, each->bytes_of_link_);
  }

 private:
  void become_first(shown_lists* next) noexcept {
    next_ = next;
    link_ = &first_;
    if (next) next->link_ = &next_;
    first_ = this;
  }

  static constinit shown_lists* first_;
  const void* lists_ = nullptr;
  std::size_t bytes_of_link_ = 0;
  shown_lists* next_ = nullptr;
  shown_lists** link_ = nullptr;  ///< what refers to it
};
constinit shown_lists* shown_lists::first_ = nullptr;
constinit thread_local shown_lists of_this_thread;

/// The threads of a program do not exist in a child process, but what they have shown does.
[[maybe_unused]] const int shown_over_fork =
    ::pthread_atfork([] { lock_of_shown.lock(); }, [] { lock_of_shown.unlock(); },
                     [] {
                       of_this_thread.become_only();
                       lock_of_shown.unlock();
                     });
}  // namespace

void show_free_frames(const void* lists, std::size_t bytes_of_link) noexcept {
  of_this_thread.show(lists, bytes_of_link);
}
void visit_shown_frames(const std::function<void(const void* lists, std::size_t bytes_of_link)>& visit) {
  const std::lock_guard lock{lock_of_shown};
  shown_lists::visit_all(visit);
}
#endif
}  // namespace coracle::detail
