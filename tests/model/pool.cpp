// tests/model/pool.cpp -- how the pool's threads share their work, sleep, wake each other and end.
// SPDX-License-Identifier: MIT
#include <coracle/core/yield.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using priority = coracle::static_thread_pool::priority;
using coracle::static_thread_pool;
using coracle::detail::one_shot;
using namespace coracle_test;

/// Runs once on `place`, and sees what the poster wrote.
template <class Place>
detached add_on(Place& place, plain_int& sum, int what) {
  co_await place.schedule();
  sum += what;
}
template <class Place>
detached finish_on(Place& place, plain_int& data, one_shot& done) {
  co_await place.schedule();
  data += 1;
  done.set();
}

/// The poster sleeps until it has run, so no other thread would wake the pool's thread.
void post_is_not_missed() {
  plain_int data = 1;
  static_thread_pool pool{1};
  one_shot done;
  data = 41;
  finish_on(pool, data, done);
  done.wait();
  model_expect(data == 42, "it has run, and seen what was written before");
}
template <priority Level>
void post_at_level_is_not_missed() {
  plain_int data = 41;
  static_thread_pool pool{1};
  auto place = pool.with_priority(Level);
  one_shot done;
  finish_on(place, data, done);
  done.wait();
  model_expect(data == 42, "it has run");
}
/// The second may arrive while the thread runs the first, looks for more, or sleeps again.
void two_posts() {
  plain_int data = 40;
  static_thread_pool pool{1};
  one_shot first, second;
  finish_on(pool, data, first);
  finish_on(pool, data, second);
  first.wait();
  second.wait();
  model_expect(data == 42, "both have run");
}
template <unsigned Threads>
void shutdown_runs_all() {
  plain_int one = 0, other = 0;
  {
    static_thread_pool pool{Threads};
    add_on(pool, one, 1);
    add_on(pool, other, 1);
  }
  model_expect(one == 1 && other == 1, "each has run once");
}
void shutdown_runs_one() {
  plain_int done = 0;
  {
    static_thread_pool pool{2};
    add_on(pool, done, 1);
  }
  model_expect(done == 1, "it has run once");
}
/// More entries than its own queue holds, so that some overflow into the shared one, and the other threads
/// help.
detached fan_out(static_thread_pool& pool, plain_int (&data)[3]) {
  co_await pool.schedule();
  for (plain_int& each : data) add_on(pool, each, 1);
}
template <unsigned Threads>
void own_posts_run_once() {
  plain_int data[3] = {0, 0, 0};
  {
    static_thread_pool pool{Threads};
    fan_out(pool, data);
  }
  for (plain_int& each : data) model_expect(each == 1, "each has run once");
}
detached post_and_wait_for(static_thread_pool& pool, plain_int& data, one_shot& done) {
  co_await pool.schedule();
  one_shot helped;
  finish_on(pool, data, helped);
  helped.wait();  // blocks its thread, so another has to come
  done.set();
}
void sleeper_helps() {
  plain_int data = 41;
  static_thread_pool pool{2};
  one_shot done;
  post_and_wait_for(pool, data, done);
  done.wait();
  model_expect(data == 42, "another thread has run it");
}
template <class Place>
detached wait_on(Place& place, one_shot& helped, one_shot& done) {
  co_await place.schedule();
  helped.wait();  // blocks its thread
  done.set();
}
/// A post while a thread is searching wakes no thread. The searching thread may find both, and must call
/// another for the second.
void searcher_calls_another() {
  plain_int data = 41;
  static_thread_pool pool{2};
  one_shot helped, done;
  wait_on(pool, helped, done);
  finish_on(pool, data, helped);
  done.wait();
  model_expect(data == 42, "another thread has run it");
}
/// The posted entry may cause the owner to destroy the pool before the poster's post() has returned.
void destroyed_behind_a_post() {
  plain_int data = 41;
  auto pool = std::make_unique<static_thread_pool>(1);
  one_shot done;
  model_thread poster{[&, at = pool.get()] { finish_on(*at, data, done); }};
  done.wait();
  pool.reset();
  poster.join();
  model_expect(data == 42, "it has run");
}
void two_posters() {
  plain_int one = 0, other = 0;
  static_thread_pool pool{1};
  one_shot first, second;
  model_thread poster{[&] { finish_on(pool, one, first); }};
  finish_on(pool, other, second);
  first.wait();
  second.wait();
  poster.join();
}
void levels_all_run() {
  plain_int one = 0, other = 0, third = 0;
  {
    static_thread_pool pool{1};
    auto high = pool.with_priority(priority::high), low = pool.with_priority(priority::low);
    add_on(low, one, 1);
    add_on(pool, other, 1);
    add_on(high, third, 1);
  }
  model_expect(one == 1 && other == 1 && third == 1, "each has run once");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("pool of 1: a post is not missed", 3, post_is_not_missed);
  run.check("pool of 1: nor one at high priority", 3, post_at_level_is_not_missed<priority::high>);
  run.check("pool of 1: nor one at low priority", 3, post_at_level_is_not_missed<priority::low>);
  run.check("pool of 1: two posts", 3, two_posts);
  run.check("pool of 1: two posters", 2, two_posters);
  run.check("pool of 1: the end runs what is queued", 3, shutdown_runs_all<1>);
  run.check("pool of 1: at all priorities", 3, levels_all_run);
  run.check("pool of 1: its own posts, more than its queue holds", 3, own_posts_run_once<1>);
  run.check("pool of 1: destroyed behind a post", 3, destroyed_behind_a_post);
  run.check("pool of 2: the end runs a post", 2, shutdown_runs_one);
  run.check("pool of 2: the end runs what is queued", 2, shutdown_runs_all<2>);
  run.check("pool of 2: a thread's own posts run once", 1, own_posts_run_once<2>);
  run.check("pool of 2: a sleeper helps", 1, sleeper_helps);
  run.check("pool of 2: a searcher that finds work calls another", 1, searcher_calls_another);
  return run.finish();
}
