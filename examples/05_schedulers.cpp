// examples/05_schedulers.cpp -- what runs where: schedule(), schedule_on(), resume_on() and via().
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>

coracle::run_loop loop;

void say(const char* what) {
  std::printf("%-29s on the %s\n", what, coracle::current_executor() == &loop ? "loop" : "pool");
}

coracle::task<> work() {
  say("  work");
  co_return;
}

coracle::task<> tour(coracle::static_thread_pool& pool) {
  const auto stop_at_end = coracle::on_scope_exit([] { loop.stop(); });  // after an error, too
  co_await loop.schedule();
  say("after loop.schedule()");
  co_await coracle::via(work(), pool);
  say("after via(work, pool)");
  co_await coracle::resume_on(work(), pool);
  say("after resume_on(work, pool)");
  co_await coracle::schedule_on(work(), loop);
  say("after schedule_on(work, loop)");
}

coracle::task<> drive() {
  loop.run();
  co_return;
}

int main() {
  coracle::static_thread_pool pool{2};
  coracle::sync_wait(coracle::when_all(tour(pool), drive()));
}

// Output:
//   after loop.schedule()         on the loop
//     work                        on the pool
//   after via(work, pool)         on the loop
//     work                        on the loop
//   after resume_on(work, pool)   on the pool
//     work                        on the loop
//   after schedule_on(work, loop) on the loop
