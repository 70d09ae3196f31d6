// tour/memory_station.cpp -- heap, recycler, an allocator, no memory at all, and no frame at all.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <memory_resource>
#include <new>

#include "allocations.hpp"
#include "clock.hpp"
#include "format.hpp"
#include "small_task.hpp"
#include "stations.hpp"

namespace tour {
namespace {
constexpr std::uint64_t child_awaits = 1'000'000;

struct cost {
  double allocations = 0;  ///< of one await
  double nanoseconds = 0;  ///< of one await
};

// Out of line, so that the frame is really allocated.
template <class Frames>
[[gnu::noinline]] small_task<Frames> distant_child(int value) {
  co_return value;
}
template <class Frames>
small_task<Frames> near_child(int value) {
  co_return value;
}
[[gnu::noinline]] coracle::task<int> child_in(std::allocator_arg_t, std::pmr::polymorphic_allocator<> place,
                                              int value) {
  static_cast<void>(place);
  co_return value;
}

template <class Frames>
coracle::task<std::uint64_t> await_distant(std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i != count; ++i) sum += static_cast<unsigned>(co_await distant_child<Frames>(1));
  co_return sum;
}
template <class Frames>
coracle::task<std::uint64_t> await_near(std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i != count; ++i) sum += static_cast<unsigned>(co_await near_child<Frames>(1));
  co_return sum;
}
// One buffer, handed out from its start to its end, and begun anew now and then: no frame is alive then.
coracle::task<std::uint64_t> await_in_buffer(std::uint64_t count) {
  alignas(std::max_align_t) static std::array<std::byte, 64 * 1024> buffer;
  std::pmr::monotonic_buffer_resource arena(buffer.data(), buffer.size(), std::pmr::null_memory_resource());
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i != count; ++i) {
    if (i % 128 == 0) arena.release();
    sum += static_cast<unsigned>(co_await child_in(std::allocator_arg, &arena, 1));
  }
  co_return sum;
}

template <class Loop>
cost measure(Loop loop) {
  cost result;
  coracle::sync_wait(loop(1000));
  const stopwatch watch;
  coracle::sync_wait(loop(child_awaits));
  result.nanoseconds = watch.nanoseconds() / static_cast<double>(child_awaits);
  const allocation_count allocations;
  coracle::sync_wait(loop(child_awaits));
  result.allocations = static_cast<double>(allocations.calls()) / static_cast<double>(child_awaits);
  return result;
}

struct frame_source {
  std::string key, name;
  cost measured;
};

void show_sources(section& page, const std::vector<frame_source>& sources) {
  bar_chart counts{"Allocations of one await, by where the child's frame comes from", "allocations", {}};
  bar_chart times_taken{"Time of one await", "ns", {}};
  for (const frame_source& each : sources) {
    const cost& seen = each.measured;
    counts.bars.push_back({each.name, seen.allocations, fixed(seen.allocations, 2)});
    times_taken.bars.push_back({each.name, seen.nanoseconds, fixed(seen.nanoseconds, 1) + " ns"});
    page.measured(each.key + ".allocations", seen.allocations, "allocations");
    page.measured(each.key + ".await", seen.nanoseconds, "ns");
  }
  page.add(std::move(counts));
  page.add(std::move(times_taken));
}

cautious careful(int value) { co_return value; }
[[gnu::noinline]] coracle::task<int> careless(int value) { co_return value; }

void show_failure(section& page) {
  page.say("And when memory has run out (the tour's operator new fails on request):");
  bool reported = false, thrown = false;
  {
    const out_of_memory gone;
    reported = !careful(1).has_memory();
  }
  coracle::trim_frame_memory();
  try {
    const out_of_memory gone;
    [[maybe_unused]] const auto never = careless(1);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  page.check(reported && careful(1).result() == 1,
             "With the promise part reports_allocation_failure the call returned an object that says so.");
  page.check(thrown, "Without it the call threw std::bad_alloc, before anything had started.");
}
}  // namespace

void show_memory(section& page, const settings&) {
  page.say("A loop over " + grouped(child_awaits) +
           " awaits of a child, with the child's frame from different places. A custom allocator is one that "
           "the child "
           "is given with std::allocator_arg, here a buffer that cannot grow.");
  const frame_source heap{"heap", "the global operator new", measure(await_distant<coracle::heap_frames>)};
  const frame_source recycler{"recycler", "coracle's recycler",
                              measure(await_distant<coracle::recycled_frames>)};
  const frame_source buffer{"buffer", "a buffer, by allocator_arg", measure(await_in_buffer)};
  const frame_source parent{"elided", "operator new, child inlinable",
                            measure(await_near<coracle::heap_frames>)};
  show_sources(page, {heap, recycler, buffer, parent});
  page.say("An await with a frame from the heap takes " +
           times(heap.measured.nanoseconds / recycler.measured.nanoseconds) +
           " as long as one with the recycler.");
  page.say(parent.measured.allocations < 0.01 ? "Where the compiler sees the child's body it may put the "
                                                "child's frame into the parent's: this one did, "
                                                "though the child asked for the heap."
                                              : "Where the compiler sees the child's body it may put the "
                                                "child's frame into the parent's (clang does, "
                                                "with coro_await_elidable): this one did not.");
  page.check(recycler.measured.allocations < 0.001, "The recycler needs no allocation once it is warm.");
  page.check(buffer.measured.allocations < 0.001, "A frame in the caller's own buffer allocates nothing.");
  show_failure(page);
}
}  // namespace tour
