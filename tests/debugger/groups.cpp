// tests/debugger/groups.cpp -- hangs in children that are in a vector, a pipeline, a single_flight or inside
// as_outcome(), and beside a generator, for gdb.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <vector>

namespace {
using namespace coracle;
using event = async_manual_reset_event;

task<> wait_for(event& one) { co_await one; }
task<> visit_all() {
  event opened;
  const std::vector<int> rooms{1, 2, 3};
  const auto visit = [&](int) { return wait_for(opened); };
  co_await for_each_concurrent(rooms, 2, visit);
}
task<> race_all() {
  event started;
  std::vector<task<>> all;
  for (int i = 0; i != 2; ++i) all.push_back(wait_for(started));
  co_await when_any(std::move(all));
}
task<> look() {
  event seen;
  co_await as_outcome(seen);
}
task<int> ask(event& answered, int question) {
  co_await answered;
  co_return question;
}
async_generator<int> questions() {
  for (int question = 0; question != 3; ++question) co_yield question;
}
task<> ask_all() {
  event answered;
  const auto ask_one = [&answered](int question) { return ask(answered, question); };
  const auto show = [](int question) { std::printf("%d\n", question); };
  co_await (questions() | streams::map(ask_one) | streams::buffered(2) | streams::for_each(show));
}
task<> ask_in_turn() {
  event answered;
  auto all = questions();
  while (const int* question = co_await all.next()) co_await ask(answered, *question);
}
task<> pass_on(channel<int>& to) {
  auto all = questions();
  while (const int* question = co_await all.next()) co_await to.send(*question);
}
task<> pass_all_on() {
  channel<int> full(1);
  co_await pass_on(full);
}
task<> find(single_flight<int, int>& answers, event& answered) {
  const auto work = [&answered] { return ask(answered, 1); };
  std::printf("%d\n", co_await answers.run(1, work));
}
task<> find_twice() {
  single_flight<int, int> answers;
  event answered;
  co_await when_all(find(answers, answered), find(answers, answered));
}
task<> join_own(async_scope& scope) {
  co_await this_task::yield();
  co_await scope.join();
}
task<> spawn_one() {
  async_scope scope;
  event left;
  scope.spawn(join_own(scope));
  co_await left;
}
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
task<> run_all() {
  co_await when_all(visit_all(), race_all(), look(), ask_all(), ask_in_turn(), pass_all_on(), find_twice(),
                    spawn_one(), tell_that_it_hangs());
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  static_thread_pool pool(1);
  sync_wait(schedule_on(run_all(), pool));
}
