// coracle/core/detail/subtree.hpp -- the environment of children that can be stopped separately.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/environment.hpp>

namespace coracle::detail {
/// As the surrounding environment, but with a stop token of its own, which also stops when the outer one
/// does.
class subtree : linked_stop_source, public environment {
 public:
  subtree(const subtree&) = delete;
  subtree& operator=(const subtree&) = delete;
  /// Requires: `outer` lives longer.
  CORACLE_ALWAYS_INLINE()
  explicit subtree(const environment& outer) noexcept
      : linked_stop_source(outer.stop), environment(lend_token(), outer.deadline, outer.locals) {}
  /// Creates the state at which waits below register, so that none of them fails to allocate it. Throws
  /// std::bad_alloc.
  void prepare_for_waits() {
    static_cast<void>(stop_registration::state_of(stop));
    if (stop.reason() == stop_reason::out_of_memory) throw_cancelled(stop_reason::out_of_memory);
  }
  /// Returns true if work below was stopped here, for `why`, because its result is not needed any more.
  [[nodiscard]] bool has_dropped(stop_reason why) noexcept {
    return (why == stop_reason::lost_race || why == stop_reason::sibling_failed) && requested_here(why);
  }
  ~subtree() { linked_stop_source::take_back(stop); }
  using linked_stop_source::may_be_requested;
  using linked_stop_source::request_linked;
  using linked_stop_source::request_stop;
  using linked_stop_source::requested_here;
};
}  // namespace coracle::detail
