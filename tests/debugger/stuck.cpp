// tests/debugger/stuck.cpp -- programs as one meets them in a debugger: they hang, leak, throw, or crash.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace {
using namespace coracle;
/// Tells the test that all others have suspended: of a pool with one thread it leaves them their turns.
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}

// ---- two mutexes, locked in opposite orders ----

async_mutex savings, checking;

task<int> transfer(async_mutex& from, async_mutex& to, int amount) {
  auto debit = co_await from.scoped_lock_async();
  co_await this_task::yield();
  auto credit = co_await to.scoped_lock_async();
  co_return amount;
}
task<> save_up() {
  int moved = co_await transfer(checking, savings, 10);
  std::printf("%d\n", moved);
}
task<> pay_rent() {
  int moved = co_await transfer(savings, checking, 700);
  std::printf("%d\n", moved);
}
task<> bank(static_thread_pool& pool) {
  co_await pool.schedule();
  co_await when_all(save_up(), pay_rent(), tell_that_it_hangs());
}
void lock_in_opposite_orders() {
  static_thread_pool pool(1);
  sync_wait(bank(pool));
}

// ---- an event that nobody sets ----

struct cache {
  async_manual_reset_event loaded;
  int entries = 0;
};
task<int> look_up(cache& in, int key) {
  co_await in.loaded;
  co_return in.entries + key;
}
task<> reader(cache& in, int key) { std::printf("%d\n", co_await look_up(in, key)); }
task<> read_all(static_thread_pool& pool, cache& in) {
  async_scope scope;
  for (int key = 0; key != 4; ++key) scope.spawn(pool, reader(in, key));
  scope.spawn(pool, tell_that_it_hangs());
  co_await scope.join();
}
void forget_to_set() {
  static_thread_pool pool(1);
  cache entries;
  sync_wait(read_all(pool, entries));
}

// ---- a child that takes long ----

task<std::string> ask_backend(int id) {
  using namespace std::chrono_literals;
  co_await sleep_for(24h);
  co_return "answer " + std::to_string(id);
}
task<> serve(int id) {
  const std::string answer = co_await ask_backend(id);
  std::puts(answer.c_str());
}
task<> serve_all(static_thread_pool& pool) {
  co_await pool.schedule();
  co_await when_all(serve(7), tell_that_it_hangs());
}
void wait_for_a_slow_child() {
  static_thread_pool pool(1);
  sync_wait(serve_all(pool));
}

// ---- a coroutine that nobody owns ----

struct fire_and_forget {
  struct promise_type : part::starts_eagerly,
                        part::returns<void, part::terminates_on_error>,
                        part::frees_itself,
                        part::awaits_anything,
                        recycled_frames {
    fire_and_forget get_return_object() noexcept { return {}; }
  };
};
fire_and_forget log_requests(channel<int>& requests) {
  int served = 0;
  while (std::optional<int> request = co_await requests.recv()) served += *request;
  std::printf("%d\n", served);
}
void leak() {
  channel<int> requests(2);
  log_requests(requests);
  std::puts("hangs");
  std::fflush(stdout);
  pause();
}

// ---- an exception from three awaits deep, and a crash ----

task<int> parse(const char* text) {
  if (std::strchr(text, '?')) throw std::runtime_error("unexpected character");
  co_return static_cast<int>(std::strlen(text));
}
task<int> load(const char* text) { co_return 1 + co_await parse(text); }
task<> refresh(static_thread_pool& pool, const char* text) {
  co_await pool.schedule();
  std::printf("%d\n", co_await load(text));
}
void throw_from_depth() {
  static_thread_pool pool(1);
  sync_wait(refresh(pool, "a=?"));
}

struct account {
  int balance;
};
task<int> read_balance(const volatile account* of) {
  co_await this_task::yield();
  co_return of->balance;
}
task<> print_balance(static_thread_pool& pool, const volatile account* of) {
  co_await pool.schedule();
  std::printf("%d\n", co_await read_balance(of));
}
void crash() {
  static_thread_pool pool(1);
  sync_wait(print_balance(pool, nullptr));
}

// ---- a thread that is still in await_suspend() while another one runs the coroutine ----

/// As schedule() on a busy machine: the coroutine goes on before await_suspend() has returned.
class slow_to_return {
 public:
  slow_to_return() {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) {
    std::thread([suspended] { coracle::resume(suspended); }).detach();
    pause();
  }
  void await_resume() const noexcept {}
};
task<> refresh_early(const char* text) {
  co_await slow_to_return();
  std::printf("%d\n", co_await load(text));
}
void throw_before_suspended() { sync_wait(refresh_early("a=?")); }

// ---- of two events, one that nobody sets while others go on ----

task<> wait_for(async_manual_reset_event& event) { co_await event; }
task<> close_tomorrow(async_manual_reset_event& closed) {
  using namespace std::chrono_literals;
  co_await sleep_for(24h);
  closed.set();
}
task<> session(static_thread_pool& pool, async_manual_reset_event& ready, async_manual_reset_event& closed) {
  co_await pool.schedule();
  co_await when_all(wait_for(ready), wait_for(closed), close_tomorrow(closed), tell_that_it_hangs());
}
void forget_one() {
  static_thread_pool pool(1);
  async_manual_reset_event ready, closed;
  sync_wait(session(pool, ready, closed));
}

// ---- a lock that is taken again below the one that holds it ----

async_mutex balances;

task<> add(int& to, int amount) {
  const auto lock = co_await balances.scoped_lock_async();
  to += amount;
}
task<> add_interest(static_thread_pool& pool, int& to) {
  co_await pool.schedule();
  const auto lock = co_await balances.scoped_lock_async();
  co_await when_all(add(to, to / 50), tell_that_it_hangs());
}
void lock_twice() {
  static_thread_pool pool(1);
  int balance = 700;
  sync_wait(add_interest(pool, balance));
}

// ---- a member of an object on the heap ----

struct printer {
  int pages = 0;
  channel<int> jobs{2};
};
task<> print_all(printer& on) {
  while (std::optional<int> pages = co_await on.jobs.recv()) on.pages += *pages;
}
task<> print_tomorrow(printer& on) {
  using namespace std::chrono_literals;
  co_await sleep_for(24h);
  co_await on.jobs.send(1);
}
task<> run_printer(static_thread_pool& pool, printer& on) {
  co_await pool.schedule();
  co_await when_all(print_all(on), print_tomorrow(on), tell_that_it_hangs());
}
void print_nothing_yet() {
  static_thread_pool pool(1);
  const auto on = std::make_unique<printer>();
  sync_wait(run_printer(pool, *on));
}
}  // namespace

// ---- tasks and a channel in variables, with names that each debugger finds, wherever the program stops ----

namespace global {
static coracle::task<> nothing, unstarted, waiting, ended;
static coracle::async_manual_reset_event opened(true), closed;
static coracle::channel<int> jobs(2);
}  // namespace global

namespace {
task<> start_two(static_thread_pool& pool) {
  co_await pool.schedule();
  co_await global::ended.when_ready();
  co_await when_all(global::waiting.when_ready(), tell_that_it_hangs());
}
void keep_tasks() {
  static_thread_pool pool(1);
  global::unstarted = wait_for(global::opened);
  global::waiting = wait_for(global::closed);
  global::ended = wait_for(global::opened);
  sync_wait(start_two(pool));
}

// ---- many that wait alike, at equal distances in memory and at others ----

task<> wait_below() { co_await wait_for(global::closed); }
task<> wait_together(static_thread_pool& pool) {
  co_await pool.schedule();
  std::vector<task<>> all;
  std::vector<std::string> between;
  for (int i = 0; i != 300; ++i) all.push_back(wait_for(global::closed));
  for (int i = 0; i != 200; ++i) {
    all.push_back(wait_below());
    between.emplace_back(100 + i * 37 % 400, ' ');
  }
  all.push_back(tell_that_it_hangs());
  co_await when_all(std::move(all));
}
void gather_a_crowd() {
  static_thread_pool pool(1);
  sync_wait(wait_together(pool));
}
}  // namespace

int main(int count, char** arguments) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  const std::string what = count == 2 ? arguments[1] : "";
  if (what == "mutexes") {
    lock_in_opposite_orders();
  } else if (what == "event") {
    forget_to_set();
  } else if (what == "slow_child") {
    wait_for_a_slow_child();
  } else if (what == "leak") {
    leak();
  } else if (what == "exception") {
    throw_from_depth();
  } else if (what == "crash") {
    crash();
  } else if (what == "early_exception") {
    throw_before_suspended();
  } else if (what == "half_stuck") {
    forget_one();
  } else if (what == "twice") {
    lock_twice();
  } else if (what == "member") {
    print_nothing_yet();
  } else if (what == "tasks") {
    keep_tasks();
  } else if (what == "crowd") {
    gather_a_crowd();
  } else {
    std::fputs("usage: stuck SCENARIO, one of those in tests/debugger/check.py\n", stderr);
    return 2;
  }
}
