// examples/08_frame_memory.cpp -- a coroutine whose frame is in the caller's buffer.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>
#include <memory_resource>

using frame_allocator = std::pmr::polymorphic_allocator<>;

coracle::task<int> add(std::allocator_arg_t, frame_allocator, int a, int b) { co_return a + b; }

int main() {
  std::byte buffer[4096];
  // null_memory_resource: if the buffer were too small, the call would throw std::bad_alloc.
  std::pmr::monotonic_buffer_resource memory(buffer, sizeof buffer, std::pmr::null_memory_resource());
  coracle::task<int> sum = add(std::allocator_arg, frame_allocator{&memory}, 40, 2);
  std::printf("%d\n", coracle::sync_wait(std::move(sum)));
}

// Output:
//   42
