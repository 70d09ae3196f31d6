// SPDX-License-Identifier: MIT
#include "free_frames.hpp"

#include <unistd.h>

#include <coracle/base/thread.hpp>
#include <coracle/core/detail/frame_cache.hpp>
#include <mutex>
#include <type_traits>

#include "process_memory.hpp"

namespace coracle::detail {
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
  static void add_all(free_frame_counts& to) {
    const process_memory memory(::getpid());
    for (const shown_lists* each = first_; each; each = each->next_) {
      if (!each->add(to, memory)) ++to.threads_not_read;
    }
  }

 private:
  void become_first(shown_lists* next) noexcept {
    next_ = next;
    link_ = &first_;
    if (next) next->link_ = &next_;
    first_ = this;
  }
  [[nodiscard]] bool add(free_frame_counts& to, const process_memory& memory) const {
    static_assert(std::is_trivially_copyable_v<frame_link>);
    frame_link copied[frame_lists];
    if (bytes_of_link_ != sizeof(frame_link)) return false;
    if (memory.read(address_of(lists_), copied, sizeof copied) != sizeof copied) return false;
    for (std::size_t index = 0; index != frame_lists; ++index) {
      if (const std::size_t count = frames_in(copied[index], index))
        to.sizes[class_size(index)].in_threads += count;
    }
    return true;
  }

  static constinit shown_lists* first_;
  const void* lists_ = nullptr;
  std::size_t bytes_of_link_ = 0;
  shown_lists* next_ = nullptr;
  shown_lists** link_ = nullptr;  ///< what refers to it
};
constinit shown_lists* shown_lists::first_ = nullptr;
constinit thread_local shown_lists of_this_thread;

/// Counts what is in the depot. A list that is taken while it is counted is left out.
void add_for_any(free_frame_counts& to) {
  const process_memory memory(::getpid());
  for (std::size_t index = first_shared; index != frame_lists; ++index) {
    const std::size_t place = index - first_shared;
    const frame_link* const first = frames_for_others.first(place);
    frame_link copied;
    if (!first || memory.read(address_of(first), &copied, sizeof copied) != sizeof copied) continue;
    if (frames_for_others.first(place) == first) to.sizes[class_size(index)].for_any += copied.room() + 1;
  }
}

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

free_frame_counts count_free_frames() {
  free_frame_counts found;
  {
    const std::lock_guard lock{lock_of_shown};
    shown_lists::add_all(found);
  }
  add_for_any(found);
  return found;
}
}  // namespace coracle::detail
