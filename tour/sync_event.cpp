// tour/sync_event.cpp -- station 3, first part: ten thousand coroutines wait for one event.
// SPDX-License-Identifier: MIT
#include "sync_event.hpp"

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "allocations.hpp"
#include "clock.hpp"

namespace tour {
namespace {
using coracle::task;

struct scene {
  coracle::async_manual_reset_event event;
  std::thread::id main = std::this_thread::get_id();
  std::thread::id setter;
  std::optional<allocation_count> allocations;  // since the first began to wait
  wake_up result;
};

/// A thread that calls set() when told to.
class setter_thread {
 public:
  explicit setter_thread(scene& at) : thread_([this, &at] { run(at); }) {
    while (!ready_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  void go() { go_.store(true, std::memory_order_release); }
  void join() { thread_.join(); }

 private:
  void run(scene& at) {
    at.setter = std::this_thread::get_id();
    ready_.store(true, std::memory_order_release);
    while (!go_.load(std::memory_order_acquire)) std::this_thread::yield();
    const stopwatch watch;
    at.event.set();
    at.result.set_nanoseconds = watch.nanoseconds();
  }

  std::atomic<bool> ready_{false}, go_{false};
  std::thread thread_;
};

task<> wait_for_event(scene& at) {
  if (!at.allocations) at.allocations.emplace();
  co_await at.event;
  const std::thread::id here = std::this_thread::get_id();
  if (++at.result.woken == at.result.waiters) at.result.allocations = at.allocations->calls();
  if (here == at.main) ++at.result.on_main;
  if (here == at.setter) ++at.result.on_setter;
}
task<> tell(setter_thread& setter) {
  setter.go();
  co_return;
}

// All frames are made before the first of them waits.
task<> release(scene& at, setter_thread& setter) {
  std::vector<task<>> everyone;
  for (std::uint64_t i = 0; i != at.result.waiters; ++i) everyone.push_back(wait_for_event(at));
  everyone.push_back(tell(setter));
  co_await coracle::when_all(std::move(everyone));
}
task<> release_on(coracle::run_loop& loop, scene& at, setter_thread& setter) {
  co_await loop.schedule();
  co_await release(at, setter);
  loop.stop();
}
task<> run(coracle::run_loop& loop) {
  loop.run();
  co_return;
}
}  // namespace

wake_up release_on_a_loop(std::uint64_t waiters) {
  scene at;
  at.result.waiters = waiters;
  setter_thread setter(at);
  coracle::run_loop loop;
  coracle::sync_wait(coracle::when_all(release_on(loop, at, setter), run(loop)));
  setter.join();
  return at.result;
}
wake_up release_outside_schedulers(std::uint64_t waiters) {
  scene at;
  at.result.waiters = waiters;
  setter_thread setter(at);
  coracle::sync_wait(release(at, setter));
  setter.join();
  return at.result;
}
}  // namespace tour
