// tour/context_station.cpp -- the thread of each step with via, resume_on and schedule_on.
// SPDX-License-Identifier: MIT
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "stations.hpp"

namespace tour {
namespace {
using coracle::task;

/// Gives each thread a name when it is first seen.
class thread_names {
 public:
  explicit thread_names(std::string of_caller) {
    names_.emplace(std::this_thread::get_id(), std::move(of_caller));
  }
  std::string here() {
    const std::lock_guard held(mutex_);
    const auto [entry, unknown] = names_.try_emplace(std::this_thread::get_id(), "");
    if (unknown) entry->second = "pool-" + std::to_string(names_.size() - 1);
    return entry->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, std::string> names_;
};

struct stage {
  explicit stage(section& shown) : page(shown) {}

  section& page;
  thread_names names{"main"};
  coracle::run_loop loop;
  coracle::static_thread_pool pool{2};
  table steps{"", {"await", "before", "inside", "after"}, {}};
};

bool is_main(const std::string& name) { return name == "main"; }

/// One step: where the coroutine was, where the awaited one ran, where it was afterwards.
struct step {
  std::string before, inside, after;
};
void note(stage& at, const std::string& expression, const step& seen) {
  at.steps.rows.push_back({expression, seen.before, seen.inside, seen.after});
}

task<> work(stage& at, std::string& ran_on) {
  ran_on = at.names.here();
  co_return;
}
task<> set_from_pool(stage& at, coracle::async_manual_reset_event& event, std::string& set_on) {
  co_await at.pool.schedule();
  set_on = at.names.here();
  event.set();
}
task<> wait_for(coracle::async_manual_reset_event& event, stage& at, std::string& after) {
  co_await event;
  after = at.names.here();
}

task<step> plain_await(stage& at) {
  step seen{at.names.here(), "", ""};
  co_await work(at, seen.inside);
  seen.after = at.names.here();
  co_return seen;
}
task<step> await_via(stage& at) {
  step seen{at.names.here(), "", ""};
  co_await coracle::via(work(at, seen.inside), at.pool);
  seen.after = at.names.here();
  co_return seen;
}
task<step> await_resume_on(stage& at) {
  step seen{at.names.here(), "", ""};
  co_await coracle::resume_on(work(at, seen.inside), at.pool);
  seen.after = at.names.here();
  co_return seen;
}
task<step> await_schedule_on(stage& at) {
  step seen{at.names.here(), "", ""};
  co_await coracle::schedule_on(work(at, seen.inside), at.pool);
  seen.after = at.names.here();
  co_return seen;
}
task<step> await_event(stage& at) {
  coracle::async_manual_reset_event event;
  step seen{at.names.here(), "", ""};
  co_await coracle::when_all(wait_for(event, at, seen.after), set_from_pool(at, event, seen.inside));
  co_return seen;
}

task<> walk_through(stage& at) {
  co_await at.loop.schedule();
  const step plain = co_await plain_await(at);
  note(at, "co_await work()", plain);
  const step visit = co_await await_via(at);
  note(at, "co_await via(work(), pool)", visit);
  const step event = co_await await_event(at);
  note(at, "co_await event  (set by the pool)", event);
  const step moved = co_await await_resume_on(at);
  note(at, "co_await resume_on(work(), pool)", moved);
  const step back{at.names.here(), "", ""};
  co_await at.loop.schedule();
  note(at, "co_await loop.schedule()", {back.before, "-", at.names.here()});
  const step carried = co_await await_schedule_on(at);
  note(at, "co_await schedule_on(work(), pool)", carried);
  co_await at.loop.schedule();
  at.page.add(at.steps);

  at.page.check(is_main(plain.inside) && is_main(plain.after), "A plain await runs the child in place.");
  at.page.check(!is_main(visit.inside) && is_main(visit.after), "via() worked on the pool and came back.");
  at.page.check(!is_main(event.inside) && is_main(event.after),
                "The event was set on the pool; its waiter resumed where it had suspended.");
  at.page.check(is_main(moved.inside) && !is_main(moved.after),
                "resume_on() worked here and continued on the pool.");
  at.page.check(is_main(carried.before) && !is_main(carried.inside) && !is_main(carried.after),
                "schedule_on() worked on the pool and stayed there.");
  at.loop.stop();
}
task<> run_here(coracle::run_loop& loop) {
  loop.run();
  co_return;
}
}  // namespace

void show_context(section& page, const settings&) {
  page.say(
      "One coroutine belongs to a run_loop on the main thread; beside it there is a pool of two threads. "
      "\"Inside\" is where the awaited work ran, \"after\" where the next line ran.");
  stage at(page);
  coracle::sync_wait(coracle::when_all(walk_through(at), run_here(at.loop)));
}
}  // namespace tour
