// SPDX-License-Identifier: MIT
#include "fiber.hpp"

#include <cxxabi.h>

#include <utility>

#if CORACLE_ADDRESS_SANITIZER()
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

asm(R"(
  .text
  .globl coracle_model_switch
  .type coracle_model_switch, @function
coracle_model_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size coracle_model_switch, .-coracle_model_switch
)");

namespace coracle::testing::model {
void model_fiber::prepare(entry* begin) {
  if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_size);
  // An abandoned execution has left it as it was.
  coracle::detail::unpoison(stack_.get(), stack_size);
  // On function entry the stack pointer is 8 below a multiple of 16.
  auto* top = reinterpret_cast<void**>(stack_.get() + stack_size - 64);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(begin);
  for (int saved = 0; saved != 6; ++saved) *--top = nullptr;
  pointer_ = top;
  exceptions_ = {};
  begins_ = true;
}

void model_fiber::exchange_exceptions(model_fiber& other) {
  static auto& here = *reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
  exceptions_ = std::exchange(here, other.exceptions_);
}

#if CORACLE_ADDRESS_SANITIZER()
namespace {
// The stack on which the checker was called; those of the fibers are known.
const void* first_stack = nullptr;
std::size_t first_stack_size = 0;
}  // namespace
void model_fiber::leave_for(model_fiber& other) {
  const void* const bottom = other.stack_ ? other.stack_.get() : first_stack;
  __sanitizer_start_switch_fiber(&fake_stack_, bottom, other.stack_ ? stack_size : first_stack_size);
}
void model_fiber::entered() {
  const void* from = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &from, &size);
  // The fake stack is kept for the next execution; this lets it collect the remains of an abandoned one.
  if (std::exchange(begins_, false)) __asan_handle_no_return();
  if (!first_stack) {
    first_stack = from;
    first_stack_size = size;
  }
}
#else
void model_fiber::leave_for(model_fiber&) {}
void model_fiber::entered() {}
#endif
}  // namespace coracle::testing::model
