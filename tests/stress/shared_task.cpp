// tests/stress/shared_task.cpp -- one coroutine is awaited, completed and dropped on several threads at once.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::async_manual_reset_event;
using coracle::shared_task;
using coracle::static_thread_pool;
using coracle::task;
using coracle_test::detached;

// The body, the awaiters and the destructor write plain data, so that TSan detects missing synchronisation.
struct record {
  explicit record(long long& seen_at_the_end) : at_end(seen_at_the_end) {}
  ~record() { at_end += runs + 10 * noted[0] + 100 * noted[1]; }
  record(const record&) = delete;
  record& operator=(const record&) = delete;
  long long& at_end;
  int runs = 0;
  int noted[2] = {};
};
struct owned_record {
  explicit owned_record(long long& at_end) : content(new record(at_end)) {}
  owned_record(owned_record&& other) noexcept : content(std::exchange(other.content, nullptr)) {}
  ~owned_record() { delete content; }
  record* content;
};

shared_task<owned_record> run_at_once(int& runs, long long& at_end) {
  ++runs;
  owned_record result(at_end);
  result.content->runs = 1;
  co_return result;
}
shared_task<owned_record> run_after(async_manual_reset_event& event, int& runs, long long& at_end) {
  ++runs;
  co_await event;
  owned_record result(at_end);
  result.content->runs = 1;
  co_return result;
}
/// Awaits the task, with a delay between await_ready() and await_suspend().
class hesitating {
 public:
  hesitating(const shared_task<owned_record>& one, int moment)
      : awaiter_(coracle::get_awaiter(one)), moment_(moment) {}
  bool await_ready() const {
    const bool ready = awaiter_.await_ready();
    coracle_test::hold_up(moment_);
    return ready;
  }
  auto await_suspend(std::coroutine_handle<> self) { return awaiter_.await_suspend(self); }
  owned_record& await_resume() { return awaiter_.await_resume(); }

 private:
  coracle::awaiter_type_t<const shared_task<owned_record>&> awaiter_;
  int moment_;
};

/// Awaits, records it and, after a delay that changes from round to round, drops its handle.
detached note(shared_task<owned_record> mine, int who, int round) {
  hesitating wait(mine, (7 + 5 * who) * round % 400);
  record& found = *(co_await wait).content;
  found.noted[who] = found.runs;
  coracle_test::hold_up((11 + 2 * who) * round % 400);
  mine = {};
}

/// One thread goes up and the other down without communicating: TSan sees no synchronisation except that of
/// the shared_tasks themselves, however the machine schedules the threads.
struct cross_over {
  int operator()(int most, auto first, auto second) const {
    std::thread other([&] {
      for (int i = most; i-- != 0;) second(i);
    });
    for (int i = 0; i != most; ++i) first(i);
    other.join();
    return most;
  }
};
/// The two threads meet at every task.
struct side_by_side {
  int operator()(int most, auto first, auto second) const {
    return coracle_test::side_by_side(most, first, second);
  }
};

/// Two threads await a task first and drop it: it runs once, and the last thread destroys it.
long long race_two_starts(int most, auto meet) {
  const auto size = static_cast<std::size_t>(most);
  std::vector<int> runs(size);
  std::vector<long long> ends(size);
  std::vector<shared_task<owned_record>> first, second;
  for (std::size_t i = 0; i != size; ++i) {
    first.push_back(run_at_once(runs[i], ends[i]));
    second.push_back(first.back());
  }
  const auto take = [&](std::vector<shared_task<owned_record>>& from, int who) {
    return [&from, who](int i) { note(std::move(from[static_cast<std::size_t>(i)]), who, i); };
  };
  const int rounds = meet(most, take(first, 0), take(second, 1));
  long long wrong = 0;
  for (std::size_t i = 0; i != static_cast<std::size_t>(rounds); ++i) wrong += runs[i] != 1 || ends[i] != 111;
  return wrong;
}

/// The task is suspended; one thread awaits it while another one completes it.
long long race_wait_and_end(int most, auto meet) {
  const auto size = static_cast<std::size_t>(most);
  std::vector<int> runs(size);
  std::vector<long long> ends(size);
  std::vector<async_manual_reset_event> events(size);
  std::vector<shared_task<owned_record>> handles;
  for (std::size_t i = 0; i != size; ++i) {
    handles.push_back(run_after(events[i], runs[i], ends[i]));
    note(handles[i], 0, 0);
  }
  const int rounds = meet(
      most, [&](int i) { note(std::move(handles[static_cast<std::size_t>(i)]), 1, i); },
      [&](int i) {
        coracle_test::hold_up(13 * i % 1000);
        events[static_cast<std::size_t>(i)].set();
      });
  long long wrong = 0;
  for (std::size_t i = 0; i != size; ++i) {
    events[i].set();
    handles[i] = {};
    wrong += runs[i] != 1 || ends[i] != (i < static_cast<std::size_t>(rounds) ? 111 : 11);
  }
  return wrong;
}

/// Each number is a task that two others await; many coroutines of a pool await the last ones.
class fibonacci {
 public:
  fibonacci(static_thread_pool& pool, int count) : pool_(pool), started_(static_cast<std::size_t>(count)) {
    for (std::size_t n = 0; n != started_.size(); ++n) numbers_.push_back(number(n));
  }
  fibonacci(const fibonacci&) = delete;
  fibonacci& operator=(const fibonacci&) = delete;
  task<unsigned> last(std::size_t before_last) {
    co_await pool_.schedule();
    const shared_task<unsigned> copy = numbers_[numbers_.size() - 1 - before_last];
    co_return co_await copy;
  }
  bool each_ran_once() const {
    for (const int each : started_) {
      if (each != 1) return false;
    }
    return true;
  }

 private:
  shared_task<unsigned> number(std::size_t n) {
    ++started_[n];
    co_await pool_.schedule();
    if (n < 2) co_return static_cast<unsigned>(n);
    const unsigned before = co_await numbers_[n - 1];
    co_return before + co_await numbers_[n - 2];
  }

  static_thread_pool& pool_;
  std::vector<int> started_;
  std::vector<shared_task<unsigned>> numbers_;
};

long long share_numbers(int rounds) {
  constexpr int count = 25;
  constexpr unsigned last_two[] = {46'368, 28'657};
  static_thread_pool pool{3};
  long long wrong = 0;
  for (int i = 0; i != rounds; ++i) {
    fibonacci numbers(pool, count);
    std::vector<task<unsigned>> readers;
    for (std::size_t r = 0; r != 8; ++r) readers.push_back(numbers.last(r % 2));
    const auto results = coracle::sync_wait(coracle::when_all(std::move(readers)));
    for (std::size_t r = 0; r != results.size(); ++r) wrong += results[r] != last_two[r % 2];
    wrong += !numbers.each_ran_once();
  }
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("shared_task", argc, argv, 2'000);
  const int many = 20 * run.int_count();
  run.expect("starts at once wrong", race_two_starts(many, side_by_side{}), 0);
  run.expect("starts crossing wrong", race_two_starts(many, cross_over{}), 0);
  run.expect("ends during a wait wrong", race_wait_and_end(many, side_by_side{}), 0);
  run.expect("ends crossing wrong", race_wait_and_end(many, cross_over{}), 0);
  run.expect("shared numbers wrong", share_numbers(run.int_count()), 0);
  return run.finish();
}
