// SPDX-License-Identifier: MIT
#include "fiber.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <utility>

#if CORACLE_ADDRESS_SANITIZER()
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// libc++ does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace {
// Of what the switch saves on a stack: how many words, and which of them says where that stack goes on.
#if defined(__x86_64__)
// The last word is padding: on entry to a function the stack pointer is 8 below a multiple of 16.
constexpr int saved_words = 8, goes_on_at = 6;
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
#else
constexpr int saved_words = 20, goes_on_at = 11;
asm(R"(
  .text
  .globl coracle_model_switch
  .type coracle_model_switch, @function
coracle_model_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size coracle_model_switch, .-coracle_model_switch
)");
#endif
}  // namespace

namespace coracle::testing::model {
void model_fiber::prepare(entry* begin) {
  if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_size);
  // An abandoned execution has left it as it was.
  coracle::detail::unpoison(stack_.get(), stack_size);
  auto** const saved = reinterpret_cast<void**>(stack_.get() + stack_size - 64) - saved_words;
  std::fill_n(saved, saved_words, nullptr);
  saved[goes_on_at] = reinterpret_cast<void*>(begin);
  pointer_ = saved;
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
