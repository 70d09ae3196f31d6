// coracle/core/detail/continuation.hpp -- what a coroutine inherits from its parent, and continues.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/customisation.hpp>
#include <coracle/core/transfer.hpp>
#include <coroutine>

namespace coracle {
class environment;

namespace detail {
/// Final suspension that continues what `Part::end()` returns; the frame may then be gone.
template <class Part>
class CORACLE_CHECKED_ABI() ends_by {
 public:
  constexpr explicit ends_by(body_end end) noexcept : end_(end) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
    end_.require_result(self.promise());
    return static_cast<Part&>(self.promise()).end();
  }
  void await_resume() const noexcept {}

 private:
  [[no_unique_address]] body_end end_;
};

// The awaiter sets both words before either is read, so neither is initialised: each store into a new frame
// is a cycle of every call.

/// The environment that a coroutine inherits.
class inherited_environment {
 public:
  inherited_environment() noexcept {}
  [[nodiscard]] const environment* get_environment() const noexcept { return environment_; }
  void set_environment(const environment* inherited) noexcept { environment_ = inherited; }

 private:
  const environment* environment_;
};
/// The frame that a coroutine continues when it ends.
class parent_frame {
 public:
  parent_frame() noexcept {}
  [[nodiscard]] std::coroutine_handle<> get() const noexcept {
    return std::coroutine_handle<>::from_address(word_.pointer());
  }
  void set(std::coroutine_handle<> frame) noexcept { word_ = word(frame.address()); }

 private:
  // Not a pointer, unlike the environment: g++ joins the stores of two pointers into a vector store, two
  // instructions more.
  using word = tagged_pointer<void, no_tag>;

  union {  // not initialised
    word word_;
  };
};

/// Both words, set by one call, and the final suspension that transfers to the parent. `Inherited` stores the
/// environment, `Parent` the frame: the two classes above, or those of a task, which store more in the same
/// words (core/detail/task_state.hpp).
template <class Inherited = inherited_environment, class Parent = parent_frame>
class continues_parent_by : public Inherited {
 public:
  continues_parent_by() noexcept = default;
  /// Called by the awaiter before it starts this coroutine.
  template <class Promise>
  void set_parent(std::coroutine_handle<Promise> parent) noexcept {
    parent_.set(parent);
    if constexpr (hands_down_environment<Promise>) {
      this->set_environment(parent.promise().get_environment());
    } else {
      this->set_environment(nullptr);
    }
  }
  [[nodiscard]] std::coroutine_handle<> parent() const noexcept { return parent_.get(); }

  class CORACLE_CHECKED_ABI() final_awaiter {
   public:
    constexpr final_awaiter(body_end end = body_end::here()) noexcept : end_(end) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    CORACLE_TRANSFER_ABI()
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      end_.require_result(self.promise());
      return transfer_to(self.promise().parent());
    }
    void await_resume() const noexcept {}

   private:
    [[no_unique_address]] body_end end_;
  };
  final_awaiter final_suspend(body_end end = body_end::here()) const noexcept { return end; }

 protected:
  Parent parent_;
};
}  // namespace detail
}  // namespace coracle
