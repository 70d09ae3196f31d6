// src/testing/model_fiber.hpp -- a stack of its own, to which the checker switches.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/frame_memory.hpp>
#include <cstddef>
#include <cstring>
#include <memory>

#if !defined(__x86_64__)
#error "coracle: the model checker switches stacks on x86-64 only so far"
#endif

extern "C" {
/// Saves the callee's registers and the stack pointer to `*save`, and goes on where `to` was saved.
void coracle_model_switch(void** save, void* to);
}

namespace coracle::testing::model {
class model_fiber {
 public:
  using entry = void();
  static constexpr std::size_t stack_size = 256 * 1024;

  /// The next switch_to() enters `begin`, which never returns.
  void prepare(entry* begin) {
    if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_size);
    coracle::detail::unpoison(stack_.get(),
                              stack_size);  // an execution that was given up has left it as it was
    // A function is entered with its stack 8 behind a multiple of 16.
    auto* top = reinterpret_cast<void**>(stack_.get() + stack_size - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(begin);
    for (int saved = 0; saved != 6; ++saved) *--top = nullptr;
    pointer_ = top;
  }
  void switch_to(model_fiber& other) { coracle_model_switch(&pointer_, other.pointer_); }

 private:
  std::unique_ptr<std::byte[]> stack_;
  void* pointer_ = nullptr;
};
}  // namespace coracle::testing::model
