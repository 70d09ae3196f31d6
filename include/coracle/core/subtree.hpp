// coracle/core/subtree.hpp -- the environment of children that can be stopped without their parent.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/environment.hpp>
#include <coracle/core/linked_stop_source.hpp>

namespace coracle::detail {
/// As the environment around it, but with a stop token of its own, which also stops when the outer one does.
class subtree : public environment {
 public:
  /// Throws std::bad_alloc. Requires: `outer` lives longer.
  subtree(const subtree&) = delete;
  subtree& operator=(const subtree&) = delete;
  CORACLE_ALWAYS_INLINE() explicit subtree(const environment& outer) : source_(outer.stop) {
    stop = source_.lend_token();
    deadline = outer.deadline;
    locals = outer.locals;
  }
  ~subtree() { linked_stop_source::take_back(stop); }
  /// True: this was the first request.
  bool request_stop(stop_reason why) noexcept { return source_.request_stop(why); }
  /// The same, for a callback of another source: see stop_state::request_linked().
  void request_linked(stop_reason why) noexcept { source_.request_linked(why); }

 private:
  linked_stop_source source_;
};
}  // namespace coracle::detail
