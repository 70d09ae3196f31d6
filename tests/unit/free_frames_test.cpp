// tests/unit/free_frames_test.cpp -- the free frames of all threads, counted by another one.
// SPDX-License-Identifier: MIT
#include "../../src/inspect/free_frames.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coracle/core/frame_memory.hpp>
#include <coracle/testing/allocations.hpp>
#include <cstddef>
#include <latch>
#include <new>
#include <thread>
#include <vector>

namespace {
using coracle::detail::count_free_frames;
using coracle::detail::depot_budget;
using coracle::detail::rounded_size;

// No other test has frames of these sizes.
constexpr std::size_t small = rounded_size(1000), large = rounded_size(9000), huge = rounded_size(200'000);

std::size_t free_in_threads(std::size_t size) { return count_free_frames().sizes[size].in_threads; }

void keep(std::size_t size, std::size_t count) { coracle::reserve_frame_memory(size, count); }

/// A thread that keeps frames until it is told to end.
class keeps_frames {
 public:
  keeps_frames(std::size_t size, std::size_t count)
      : thread_([this, size, count] {
          keep(size, count);
          kept_.count_down();
          may_end_.wait();
        }) {
    kept_.wait();
  }
  keeps_frames(const keeps_frames&) = delete;
  keeps_frames& operator=(const keeps_frames&) = delete;
  ~keeps_frames() {
    may_end_.count_down();
    thread_.join();
  }

 private:
  std::latch kept_{1}, may_end_{1};
  std::thread thread_;
};

TEST_CASE("free frames: those of each thread are counted by size, until it ends") {
  CHECK(free_in_threads(small) == 0);
  {
    const keeps_frames one(small, 5), two(small, 7), three(large, 3);
    CHECK(free_in_threads(small) == 12);
    CHECK(free_in_threads(large) == 3);
  }
  CHECK(free_in_threads(small) == 0);
  CHECK(free_in_threads(large) == 0);
}

TEST_CASE("free frames: what fills a small list is counted with what lies beyond it") {
  const std::size_t beyond = coracle::detail::class_budget / small + 10;
  const keeps_frames many(small, beyond);
  CHECK(free_in_threads(small) == beyond);
}

TEST_CASE("free frames: a frame that is in use, or was returned to the heap, is not counted") {
  std::thread uses([] {
    keep(small, 5);
    void* const frame = coracle::recycled_frames::operator new(small);
    CHECK(free_in_threads(small) == 4);
    coracle::recycled_frames::operator delete(frame, small);
    CHECK(free_in_threads(small) == 5);
    coracle::trim_frame_memory();
    CHECK(free_in_threads(small) == 0);
  });
  uses.join();
}

TEST_CASE("free frames: what a thread has left for others is counted apart") {
  coracle::trim_frame_memory();
  std::thread leaves([] {
    std::vector<void*> frames(depot_budget / huge / 4);
    for (void*& each : frames) each = coracle::recycled_frames::operator new(huge);
    for (void* each : frames) coracle::recycled_frames::operator delete(each, huge);
    const auto found = count_free_frames().sizes[huge];
    CHECK(found.for_any > 0);
    CHECK(found.for_any + found.in_threads == frames.size());
    const std::size_t bytes = coracle::detail::frames_for_others.bytes();
    CHECK(bytes == found.for_any * huge);
  });
  leaves.join();
  coracle::trim_frame_memory();
  CHECK(count_free_frames().sizes[huge].for_any == 0);
}

TEST_CASE("free frames: a count that runs out of memory keeps no thread from coming or going" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const keeps_frames one(small, 5);
  {
    const keeps_frames two(large, 3);
    CHECK(coracle::testing::fail_each_allocation([] {
            try {
              static_cast<void>(count_free_frames());
            } catch (const std::bad_alloc&) {
            }
          }) >= 2);  // each size takes one
  }
  const keeps_frames three(large, 7);
  CHECK(free_in_threads(small) == 5);
  CHECK(free_in_threads(large) == 7);
}

/// Returns true if `holds()` does in a child process.
template <class Condition>
bool holds_in_child(Condition holds) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::_exit(holds() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_CASE("free frames: a child process counts those of its only thread, and of threads that it starts" *
          doctest::skip(CORACLE_THREAD_SANITIZER() &&
                        CORACLE_GCC())) {  // g++'s refuses a thread of the child
  const keeps_frames of_parent(small, 5);
  keep(large, 2);
  CHECK(holds_in_child([] {
    if (free_in_threads(small) != 0 || free_in_threads(large) != 2) return false;
    {
      const keeps_frames of_child(small, 4);
      if (free_in_threads(small) != 4) return false;
    }
    return free_in_threads(small) == 0;
  }));
  std::thread keeps_none([] { CHECK(holds_in_child([] { return free_in_threads(small) == 0; })); });
  keeps_none.join();
  CHECK(free_in_threads(small) == 5);
  coracle::trim_frame_memory();
}
}  // namespace
