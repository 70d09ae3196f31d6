// coracle/compose/detail/parent_of_children.hpp -- what awaits children that have frames of their own.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/environment.hpp>

namespace coracle::detail {
/// The parent that a coroutine is for children that it starts and joins: its environment, and its frame, by
/// which a stop request finds out in which form their end is taken (core/detail/stopped_tasks.hpp). Awaitable
/// of itself, by that coroutine; never suspends.
class [[nodiscard]] parent_of_children {
 public:
  parent_of_children() noexcept = default;
  /// Of children that no particular coroutine awaits.
  explicit parent_of_children(const environment& inherited) noexcept : inherited_(&inherited) {}

  [[nodiscard]] const environment& inherited() const noexcept { return environment_or_empty(inherited_); }
  [[nodiscard]] awaiting_frame frame() const noexcept { return frame_; }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    inherited_ = detail::environment_of(parent);
    frame_ = {parent.address(), awaiting_frame::kind_of<Promise>};
    return false;
  }
  [[nodiscard]] parent_of_children await_resume() const noexcept { return *this; }

 private:
  const environment* inherited_ = nullptr;
  awaiting_frame frame_;
};
}  // namespace coracle::detail
