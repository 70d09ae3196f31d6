// tests/model/two_workers.hpp -- the part of a pool of two threads that concerns forked work.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/core/schedule.hpp>

#include "model_executor.hpp"

namespace coracle_test {
/// Two threads, the second of which steals what the first has forked; a case may add a third.
class two_workers final : public coracle::executor {
 public:
  void post(coracle::resumption& item) noexcept override { posted_.post(item); }
  coracle::schedule_operation<two_workers> schedule() noexcept {
    return coracle::schedule_operation<two_workers>{*this};
  }
  /// The first worker: runs until it finds no work.
  void run_some() {
    const on_worker here{*this, first_};
    coracle::resumption* mine = nullptr;
    do {
      mine = first_.take_back();
      if (mine) coracle::resume(mine->handle);
    } while (mine || posted_.run_posted(*this) != 0);
  }
  /// The second worker: tries to steal once, and starts the rest if it succeeds.
  void help() { run_stolen(second_, first_.steal()); }
  /// The third worker: may steal from the second what the second has stolen from the first.
  void help_too() {
    coracle::resumption* const oldest = first_.steal();
    run_stolen(third_, oldest ? oldest : second_.steal());
  }

 private:
  struct queue final : coracle::detail::fork_queue {
    using fork_queue::fork_queue;
    void call_for_help() noexcept override {}
  };
  class on_worker {
   public:
    on_worker(two_workers& place, queue& mine) : scope_(&place) { mine.enter_thread(); }
    on_worker(const on_worker&) = delete;
    on_worker& operator=(const on_worker&) = delete;
    ~on_worker() { queue::leave_thread(); }

   private:
    coracle::detail::executor_scope scope_;
  };

  void run_stolen(queue& mine, coracle::resumption* next) {
    const on_worker here{*this, mine};
    for (; next; next = mine.take_back()) coracle::resume(next->handle);
  }

  coracle::detail::atomic<std::uint32_t> nobody_sleeps_{0};
  queue first_{*this, nobody_sleeps_, 1}, second_{*this, nobody_sleeps_, 1}, third_{*this, nobody_sleeps_, 1};
  model_executor posted_;
};
}  // namespace coracle_test
