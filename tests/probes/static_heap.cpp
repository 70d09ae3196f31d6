// tests/probes/static_heap.cpp -- a program with a static heap: what it may do before and after it is sealed.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/static_heap.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "../support/abort_message.hpp"

constexpr std::size_t capacity = 64 * 1024;
CORACLE_STATIC_HEAP(capacity);

namespace {
using coracle::task;

bool all_pass = true;
void check(const char* what, bool holds) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  all_pass = false;
}
void allocate(std::size_t size) {
  void* volatile block = ::operator new(size);  // not elided
  ::operator delete(block);
}
struct alignas(128) line {
  char bytes[128];
};

task<> wait(coracle::async_manual_reset_event& event) { co_await event; }
task<> set(coracle::async_manual_reset_event& event) {
  event.set();
  co_return;
}
task<> wait_and_set() {
  coracle::async_manual_reset_event event;
  co_await coracle::when_all(wait(event), set(event));
}
}  // namespace

int main() {
  const std::size_t before = coracle::static_heap_use();
  const auto aligned = std::make_unique<line>();
  check("an allocation is aligned", reinterpret_cast<std::uintptr_t>(aligned.get()) % 128 == 0);
  const std::string text(1000, 'x');
  check("allocations come from the array", coracle::static_heap_use() >= before + 1128);
  void* const empty = ::operator new(0);
  void* const next = ::operator new(0);
  check("blocks of no bytes have different addresses", empty != next);
  const std::string full = coracle_test::abort_message([] { allocate(capacity); });
  check("an allocation that does not fit says so", full ==
                                                       "coracle: an allocation of 65536 bytes does not fit "
                                                       "into the static heap: give CORACLE_STATIC_HEAP() "
                                                       "more bytes\n");

  const std::string late = coracle_test::abort_message([] {
    coracle::seal_heap();
    allocate(10);
  });
  check("an allocation in a heap that is sealed says so",
        late ==
            "coracle: an allocation of 10 bytes after seal_heap(): make it at start, or take memory of your "
            "own\n");

  coracle::reserve_stop_states(1);
  coracle::sync_wait(wait_and_set());  // for frames of other sizes
  coracle::seal_heap();
  const std::size_t sealed = coracle::static_heap_use();
  for (int i = 0; i != 1000; ++i) coracle::sync_wait(wait_and_set());
  check("frames are recycled when the heap is sealed", coracle::static_heap_use() == sealed);
  if (all_pass) std::puts("a program with a static heap allocates only at start");
  return all_pass ? 0 : 1;
}
