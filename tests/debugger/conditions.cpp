// tests/debugger/conditions.cpp -- hangs in a shared mutex, a barrier and a condition variable, for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <optional>

namespace {
using namespace coracle;

struct meeting {
  async_shared_mutex minutes;
  async_barrier<> start{2};
  async_mutex mutex;
  async_condition_variable decided;
  bool is_decided = false;
  async_shared_mutex draft;
  sequence_barrier<> read, written;
  multi_producer_sequencer<> seats{written, 1};
  std::optional<completion<void>> answer;
};

task<> read_minutes(meeting& at) { const auto lock = co_await at.minutes.scoped_lock_shared_async(); }
task<> attend(meeting& at) { co_await at.start.arrive_and_wait(); }
task<> await_decision(meeting& at) {
  auto lock = co_await at.mutex.scoped_lock_async();
  co_await at.decided.wait(lock, [&at] { return at.is_decided; });
}
task<> await_change(meeting& at) {
  auto lock = co_await at.mutex.scoped_lock_async();
  co_await at.decided.wait(lock);
}
task<> read_draft(meeting& at) {
  const auto reading = co_await at.draft.scoped_lock_shared_async();
  co_await at.read.wait_until_published(3);
}
task<> change_draft(meeting& at) { const auto lock = co_await at.draft.scoped_lock_async(); }
task<> take_seats(meeting& at) {
  co_await at.seats.claim_one();
  co_await at.seats.claim_one();
}
task<> call(meeting& at) {
  const auto start = [&at](completion<void> done) { at.answer.emplace(std::move(done)); };
  auto answered = from_callback(start);
  co_await std::move(answered);
}
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
task<> hold_meeting(static_thread_pool& pool, meeting& at) {
  co_await pool.schedule();
  const auto lock = co_await at.minutes.scoped_lock_async();
  co_await when_all(read_minutes(at), attend(at), await_decision(at), await_change(at), read_draft(at),
                    change_draft(at), take_seats(at), call(at), tell_that_it_hangs());
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  meeting board;
  sync_wait(hold_meeting(pool, board));
}
