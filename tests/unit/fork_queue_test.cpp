// tests/unit/fork_queue_test.cpp -- the queue of a thread that forks: which thread gets which entry, and how.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/exec/run_loop.hpp>
#include <vector>

namespace {
using coracle::resumption;
using coracle::detail::asymmetric_fence;
using coracle::detail::this_thread;

/// The counts of a pool in which `asleep` threads sleep and none searches.
class fork_queue final : public coracle::detail::fork_queue {
 public:
  explicit fork_queue(std::uint32_t asleep = 0)
      : coracle::detail::fork_queue(loop_, counts_, one_searching), counts_(asleep) {}
  void call_for_help() noexcept override { ++calls; }
  coracle::executor& loop() noexcept { return loop_; }

  int calls = 0;

 private:
  static constexpr std::uint32_t one_searching = 16;
  coracle::run_loop loop_;
  coracle::detail::atomic<std::uint32_t> counts_;
};
constexpr std::size_t capacity = fork_queue::capacity;

/// Returns true if the owner takes `item` back by the fast path, which requires the system's asymmetric
/// fences.
bool is_taken_back_fast(fork_queue& queue, const resumption& item) {
  return queue.take_back_fast(item) != fork_queue::nowhere || !asymmetric_fence{}.is_free();
}

TEST_CASE("fork_queue: the owner takes the newest back, a thief the oldest") {
  fork_queue queue;
  std::array<resumption, 4> items;
  for (resumption& each : items) queue.push(each);
  CHECK_FALSE(queue.take_back(items[2]));
  CHECK(queue.take_back(items[3]));
  CHECK(queue.steal() == &items[0]);
  CHECK(queue.take_back() == &items[2]);
  CHECK(queue.steal() == &items[1]);
  CHECK(queue.steal() == nullptr);
  CHECK(queue.take_back() == nullptr);
  CHECK(queue.is_empty());
}

TEST_CASE("fork_queue: one that was found empty is known to be so until something is put in") {
  fork_queue queue;
  resumption first, second;
  queue.push(first);
  CHECK_FALSE(queue.is_known_empty());
  CHECK_FALSE(queue.seems_empty());
  CHECK(queue.steal() == &first);
  CHECK(queue.seems_empty());
  CHECK(queue.is_known_empty());
  queue.push(second);
  CHECK_FALSE(queue.is_known_empty());
  CHECK(queue.steal() == &second);
  CHECK_FALSE(queue.is_known_empty());
  CHECK(queue.take_back() == nullptr);
  CHECK(queue.is_known_empty());
}

TEST_CASE("fork_queue: what was taken back the fast way can be put in again where it was") {
  fork_queue queue;
  resumption item;
  queue.push(item);
  if (asymmetric_fence{}.is_free()) {
    const std::size_t where = queue.take_back_fast(item);
    CHECK(where != fork_queue::nowhere);
    CHECK(queue.is_empty());
    queue.push_again(where);
  }
  CHECK(queue.steal() == &item);
  CHECK(queue.is_empty());
}

TEST_CASE("fork_queue: a turn has started work if the depth has changed or a start was noted") {
  fork_queue queue;
  resumption item;
  queue.begin_turn();
  CHECK_FALSE(queue.has_started_work());
  queue.push(item);
  CHECK(queue.has_started_work());
  CHECK(queue.begin_turn() == queue.depth());
  CHECK_FALSE(queue.has_started_work());
  CHECK(queue.take_back(item));
  CHECK(queue.has_started_work());
  queue.push(item);
  CHECK_FALSE(queue.has_started_work());
  queue.note_start();
  CHECK(queue.has_started_work());
  queue.begin_turn();
  CHECK_FALSE(queue.has_started_work());
  if (asymmetric_fence{}.is_free()) {
    queue.push_again(queue.take_back_fast(item));
    CHECK(queue.has_started_work());
  }
  CHECK(queue.take_back(item));
}

TEST_CASE("fork_queue: what does not fit is the owner's alone, before what does") {
  fork_queue queue;
  std::vector<resumption> items(capacity + 2);
  for (resumption& each : items) queue.push(each);
  // The filler occupies one slot.
  std::size_t in_ring = capacity - 1;
  const resumption& newest_in_ring = items[in_ring - 1];
  resumption one_more;
  CHECK_FALSE(queue.push_if_room(one_more));
  CHECK(queue.take_back_fast(newest_in_ring) == fork_queue::nowhere);
  CHECK_FALSE(queue.take_back(newest_in_ring));
  CHECK(queue.take_back(items[capacity + 1]));
  CHECK_FALSE(queue.take_back(items[capacity + 1]));
  CHECK(queue.take_back() == &items[capacity]);
  CHECK(queue.take_back() == &items[capacity - 1]);
  CHECK(queue.take_back(newest_in_ring));
  for (std::size_t i = 0; i != in_ring - 1; ++i) CHECK(queue.steal() == &items[i]);
  CHECK(queue.is_empty());
}

TEST_CASE("fork_queue: where thieves have made room, the next entry goes there") {
  fork_queue queue;
  std::vector<resumption> items(capacity - 1);
  for (resumption& each : items) queue.push(each);
  resumption next;
  CHECK_FALSE(queue.push_if_room(next));
  CHECK(queue.steal() == &items[0]);
  CHECK(queue.push_if_room(next));
  CHECK(queue.take_back(next));
}

TEST_CASE("fork_queue: once it has been emptied, the next entry can be taken back the fast way again") {
  fork_queue queue;
  resumption a, b, next;
  SUBCASE("by the owner, of what a thief has left") {
    queue.push(a);
    queue.push(b);
    CHECK(queue.steal() == &a);
    CHECK(queue.take_back() == &b);
  }
  SUBCASE("by the owner, who takes the oldest") {
    queue.push(a);
    CHECK(queue.take_oldest() == &a);
  }
  SUBCASE("by a thief") {
    queue.push(a);
    CHECK(queue.steal() == &a);
    CHECK_FALSE(queue.take_back(a));
  }
  queue.push(next);
  CHECK(is_taken_back_fast(queue, next));
}

TEST_CASE("fork_queue: the owner takes the oldest") {
  fork_queue queue;
  std::array<resumption, 2> items;
  queue.push(items[0]);
  queue.push(items[1]);
  CHECK(queue.take_oldest() == &items[0]);
  CHECK(queue.take_oldest() == &items[1]);
  CHECK(queue.take_oldest() == nullptr);
}

TEST_CASE("fork_queue: each entry that is put in calls for help while others sleep and none searches") {
  for (const std::uint32_t asleep : {0u, 1u}) {
    fork_queue queue{asleep};
    std::array<resumption, 3> items;
    for (resumption& each : items) queue.push(each);
    CHECK(queue.calls == 3 * static_cast<int>(asleep));
  }
}

TEST_CASE("fork_queue: a thread that owns one may fork on its executor, and not elsewhere nor afterwards") {
  fork_queue queue;
  {
    const coracle::detail::executor_scope here{&queue.loop()};
    CHECK_FALSE(this_thread().may_fork());
    queue.enter_thread();
    CHECK(this_thread().may_fork());
    fork_queue::leave_thread();
    CHECK_FALSE(this_thread().may_fork());
    CHECK(this_thread().forks == nullptr);
  }
  queue.enter_thread();
  CHECK_FALSE(this_thread().may_fork());
  fork_queue::leave_thread();
}
}  // namespace
