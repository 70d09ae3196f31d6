// examples/45_without_a_heap.cpp -- a program that allocates at start, and never again.
// SPDX-License-Identifier: MIT
#define CORACLE_ENABLE_HEAP_FRAMES 0  // for the whole program: a frame from the heap does not compile
#include <array>
#include <coracle/coracle.hpp>
#include <coracle/core/static_heap.hpp>
#include <cstddef>
#include <cstdio>
#include <memory_resource>

CORACLE_STATIC_HEAP(64 * 1024);

using memory = std::pmr::memory_resource;

/// Its frame is allocated from the resource, and freed there.
coracle::task<int> filtered(std::allocator_arg_t, memory*, int sample) { co_return sample * 3 / 4; }

coracle::task<> measure(std::allocator_arg_t, memory* frames, coracle::channel<int>& samples) {
  for (int i = 0; i != 1000; ++i) {
    const int sample = co_await filtered(std::allocator_arg, frames, i);
    co_await samples.send(sample);
  }
  samples.close();
}
coracle::task<long> sum(std::allocator_arg_t, memory*, coracle::channel<int>& samples) {
  long total = 0;
  for (;;) {
    const auto sample = co_await samples.recv();
    if (!sample) co_return total;
    total += *sample;
  }
}
coracle::task<long> run(std::allocator_arg_t, memory* frames, coracle::channel<int>& samples) {
  auto [measured, total] = co_await coracle::when_all(measure(std::allocator_arg, frames, samples),
                                                      sum(std::allocator_arg, frames, samples));
  static_cast<void>(measured);
  co_return total;
}

int main() {
  static std::array<std::byte, 32 * 1024> array;
  std::pmr::monotonic_buffer_resource arena(array.data(), array.size(), std::pmr::null_memory_resource());
  std::pmr::unsynchronized_pool_resource frames(&arena);  // gives the memory of a frame to the next one
  coracle::channel<int> samples(16);
  coracle::reserve_stop_states(1);  // of the when_all()

  coracle::seal_heap();  // whatever calls operator new from here on ends the program with one line
  const std::size_t before = coracle::static_heap_use();
  const long total = coracle::sync_wait(run(std::allocator_arg, &frames, samples));
  std::printf("sum %ld, %zu bytes allocated\n", total, coracle::static_heap_use() - before);
}

// Output:
//   sum 374250, 0 bytes allocated
