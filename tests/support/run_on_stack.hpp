// tests/support/run_on_stack.hpp -- runs code on a thread with a stack of a given size.
// SPDX-License-Identifier: MIT
#pragma once
#include <pthread.h>

#include <cstddef>

namespace coracle_test {
/// Runs `f` on a new thread with `bytes` of stack and waits. Returns false if the thread cannot be created.
template <class F>
bool run_on_stack(std::size_t bytes, F f) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<F*>(argument))();
    return nullptr;
  };
  const bool started = ::pthread_attr_setstacksize(&attributes, bytes) == 0 &&
                       ::pthread_create(&thread, &attributes, run, &f) == 0;
  ::pthread_attr_destroy(&attributes);
  return started && ::pthread_join(thread, nullptr) == 0;
}
}  // namespace coracle_test
