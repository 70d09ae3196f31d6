// expect: a coroutine frame needs an allocator whose pointers are plain pointers
// tests/compile_fail/fancy_pointer_allocator.cpp -- an allocator whose memory cannot hold a frame.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

template <class T>
struct fancy {
  using value_type = T;
  struct pointer {
    T* plain;
  };
  fancy() = default;
  template <class U>
  fancy(const fancy<U>&) noexcept {}
  pointer allocate(std::size_t);
  void deallocate(pointer, std::size_t) noexcept;
};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<> wrong(std::allocator_arg_t, fancy<char>) { co_return; }
#endif
