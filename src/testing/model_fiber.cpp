// SPDX-License-Identifier: MIT
#include "model_fiber.hpp"

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
