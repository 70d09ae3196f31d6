// src/testing/model/fiber.hpp -- a stack to which the checker switches.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <memory>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "coracle: the model checker knows how to switch stacks on x86-64 and AArch64 only"
#endif

extern "C" {
/// Saves the callee-saved registers and the stack pointer to `*save`, and continues where `to` was saved.
void coracle_model_switch(void** save, void* to);
}

namespace coracle::testing::model {
class model_fiber {
 public:
  using entry = void();
  static constexpr std::size_t stack_size = 256 * 1024;

  /// The next switch_to() enters `begin`, which calls entered() first and never returns.
  void prepare(entry* begin);
  void switch_to(model_fiber& other) {
    exchange_exceptions(other);
    leave_for(other);
    coracle_model_switch(&pointer_, other.pointer_);
    entered();
  }
  /// Call on the fiber after a switch to it.
  void entered();

 private:
  /// __cxa_eh_globals of <cxxabi.h>: the exceptions that a thread handles.
  struct exceptions {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  void exchange_exceptions(model_fiber& other);
  void leave_for(model_fiber& other);

  std::unique_ptr<std::byte[]> stack_;
  void* pointer_ = nullptr;
  exceptions exceptions_;
  [[maybe_unused]] void* fake_stack_ = nullptr;  // AddressSanitizer's
  bool begins_ = false;
};
}  // namespace coracle::testing::model
