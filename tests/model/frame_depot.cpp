// tests/model/frame_depot.cpp -- lists of free frames that go from thread to thread: each frame has one
// owner.
// SPDX-License-Identifier: MIT
#include <coracle/base/plain.hpp>
#include <coracle/core/detail/frame_depot.hpp>
#include <cstddef>

#include "framework/model_test.hpp"

namespace {
using namespace coracle_test;

/// As frame_link, but the checker sees every access.
class link {
 public:
  link() = default;
  link(link* below, std::size_t length) : below_(below), length_(length) {}
  [[nodiscard]] link* below() const { return below_; }
  [[nodiscard]] std::size_t room() const { return length_; }

 private:
  coracle::detail::plain<link*> below_ = nullptr;
  coracle::detail::plain<std::size_t> length_ = std::size_t{0};
};
using frame_depot = coracle::detail::frame_depot<link, 3>;
constexpr std::size_t large = coracle::detail::least_left;

/// A list of `frames`, the last one first.
template <std::size_t N>
link list_of(link (&frames)[N]) {
  link list;
  for (link& each : frames) {
    each = list;
    list = link{&each, list.room() + 1};
  }
  return list;
}
/// Writes to each frame of the list, as its owner does. Returns their number.
std::size_t use(link list) {
  std::size_t count = 0;
  for (; link* const frame = list.below(); ++count) {
    list = *frame;
    *frame = link{};
  }
  return count;
}
std::size_t use_what_is_left(frame_depot& depot, std::size_t frame_bytes) {
  std::size_t count = 0;
  for (const std::size_t size : {0U, 1U, 2U}) count += use(depot.take(size, frame_bytes));
  model_expect(depot.bytes() == 0, "nothing is counted that is not here");
  return count;
}

/// One thread leaves a list, the others take it.
template <unsigned Threads>
void leave_and_take() {
  frame_depot depot;
  link frames[2];
  std::size_t used[Threads] = {};
  together(Threads, [&](unsigned thread) {
    used[thread] = use(thread == 0 ? depot.leave(0, list_of(frames), large) : depot.take(0, large));
  });
  std::size_t sum = use_what_is_left(depot, large);
  for (const std::size_t each : used) sum += each;
  model_expect(sum == 2, "each frame has been used once");
}
/// Each thread leaves a list and uses the one that it gets instead; the second list is longer.
void both_leave() {
  frame_depot depot;
  link frames[2], more[4];
  std::size_t used[2] = {};
  together(2, [&](unsigned thread) {
    used[thread] =
        use(thread == 0 ? depot.leave(0, list_of(frames), large) : depot.leave(0, list_of(more), large));
  });
  const std::size_t left = use_what_is_left(depot, large);
  model_expect(used[0] + used[1] + left == 6, "each frame has been used once");
  model_expect(left != 0, "a list lies there");
}
/// One leaves a list and takes one again, while the other does the same.
void leave_then_take() {
  frame_depot depot;
  link frames[1], others[2];
  std::size_t used[2] = {};
  const auto swap_lists = [&](unsigned thread, link list) {
    used[thread] = use(depot.leave(0, list, large)) + use(depot.take(0, large));
  };
  together(2, [&](unsigned thread) { swap_lists(thread, thread == 0 ? list_of(frames) : list_of(others)); });
  model_expect(used[0] + used[1] + use_what_is_left(depot, large) == 3, "each frame has been used once");
}
/// Any two of the lists exceed the budget: the depot holds one, the others stay with their threads.
void budget_is_kept() {
  constexpr std::size_t more_than_half = coracle::detail::depot_budget / 2 + 1;
  frame_depot depot;
  link frames[3][1];
  std::size_t kept[3] = {};
  together(3, [&](unsigned thread) {
    kept[thread] = use(depot.leave(thread, list_of(frames[thread]), more_than_half));
  });
  model_expect(kept[0] + kept[1] + kept[2] == 2, "two lists stay with their threads");
  model_expect(use_what_is_left(depot, more_than_half) == 1, "one list lies there");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run{argc, argv};
  run.check("depot: a list is left and taken", run.all, leave_and_take<2>);
  run.check("depot: a list is left, and two threads take", 4, leave_and_take<3>);
  run.check("depot: two threads leave lists", run.all, both_leave);
  run.check("depot: two threads leave lists and take some", run.all, leave_then_take);
  run.check("depot: the budget is kept by three threads", run.all, budget_is_kept);
  return run.finish();
}
